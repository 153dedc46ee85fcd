package superfastpts

import java.util.concurrent.atomic.AtomicBoolean

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, FileAlreadyExistsException, Path}
import org.apache.hadoop.fs.Options.CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE
import org.apache.hadoop.fs.s3a.RemoteFileChangedException
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager

/** Files of a streaming checkpoint in an object store: of two jobs that plan the same batch, the store lets one.
  *
  * Spark's own managers look whether a file is there, and then put theirs in its place.
  */
class ConditionalCheckpointFileManager(path: Path, configuration: Configuration)
    extends FileSystemBasedCheckpointFileManager(path, configuration) {

  override def createAtomic(path: Path, overwriteIfPossible: Boolean): CancellableFSDataOutputStream = {
    val file = fs.createFile(path).recursive()
    if (overwriteIfPossible) file.overwrite(true) else file.must(FS_OPTION_CREATE_CONDITIONAL_OVERWRITE, true)
    new CreatedWhenClosed(file.build(), path)
  }
}

private class CreatedWhenClosed(file: FSDataOutputStream, path: Path) extends CancellableFSDataOutputStream(file) {

  private val hasEnded = new AtomicBoolean

  override def close(): Unit =
    if (!hasEnded.getAndSet(true)) {
      try file.close()
      catch {
        case error: RemoteFileChangedException =>
          throw new FileAlreadyExistsException(s"$path is there already").initCause(error)
      }
    }

  override def cancel(): Unit =
    if (!hasEnded.getAndSet(true)) {
      file.abort()
      file.close()
    }
}
