package superfastpts.benchmarks;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.RemoteStreamEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * A Flink cluster in this JVM, one task manager, that runs SQL scripts.
 *
 * <p>Arguments are settings, name=value. Each line of standard input is `await` or `start` and the path of a script, whose
 * statements are separated by empty lines and whose last statement is the job. `await` answers when the job is done,
 * `start` when it runs, with one JSON object on standard output. The cluster ends with the input.
 */
public final class SqlRunner {
  private SqlRunner() {}

  public static void main(String[] settings) {
    try {
      run(settings);
      System.exit(0); // running jobs and idle threads included
    } catch (Exception e) {
      e.printStackTrace();
      System.exit(1);
    }
  }

  private static void run(String[] settings) throws Exception {
    Configuration configuration = new Configuration();
    for (String setting : settings) {
      int equals = setting.indexOf('=');
      configuration.setString(setting.substring(0, equals), setting.substring(equals + 1));
    }
    int slots = Integer.parseInt(configuration.getString("taskmanager.numberOfTaskSlots", "1"));
    MiniCluster cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(slots)
                .withRandomPorts()
                .build());
    cluster.start();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] request = line.split(" ", 2);
      long began = System.nanoTime();
      JobID job = submit(cluster, configuration, Files.readString(Path.of(request[1])));
      if (request[0].equals("await")) {
        cluster.requestJobResult(job).get().toJobExecutionResult(SqlRunner.class.getClassLoader());
      } else {
        while (cluster.getJobStatus(job).get() != JobStatus.RUNNING) {
          Thread.sleep(100);
        }
      }
      double seconds = (System.nanoTime() - began) / 1e9;
      System.out.printf(Locale.ROOT, "{\"answer\": {\"seconds\": %.3f}}%n", seconds);
      System.out.flush();
    }
  }

  private static JobID submit(MiniCluster cluster, Configuration configuration, String script) throws Exception {
    URI rest = cluster.getRestAddress().get();
    StreamTableEnvironment tables =
        StreamTableEnvironment.create(
            new RemoteStreamEnvironment(rest.getHost(), rest.getPort(), new Configuration(configuration)));
    JobClient job = null;
    for (String statement : script.replaceAll("(?m)^--.*$", "").split("\n\\s*\n")) {
      String sql = statement.strip().replaceAll(";$", "");
      if (!sql.isEmpty()) {
        job = tables.executeSql(sql).getJobClient().orElse(null);
      }
    }
    if (job == null) {
      throw new IllegalArgumentException("the script's last statement starts no job");
    }
    return job.getJobID();
  }
}
