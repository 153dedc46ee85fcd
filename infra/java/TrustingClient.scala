package superfastpts

import java.io.ByteArrayInputStream
import java.net.URI
import java.nio.charset.StandardCharsets.US_ASCII
import java.security.KeyStore
import java.security.cert.CertificateFactory
import javax.net.ssl.TrustManagerFactory

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.s3a.DefaultS3ClientFactory
import org.apache.hadoop.fs.s3a.S3ClientFactory.S3ClientCreationParameters
import org.apache.hadoop.fs.s3a.impl.AWSClientConfig._
import software.amazon.awssdk.http.TlsTrustManagersProvider
import software.amazon.awssdk.services.s3.{S3AsyncClient, S3BaseClientBuilder, S3Client}

/** Clients of an object store whose certificate comes from authorities that stand in the configuration.
  *
  * Java knows one list of authorities for all that a process connects to, and has it in a file, which the processes of
  * other hosts do not have.
  */
class TrustingClientFactory extends DefaultS3ClientFactory {

  override def createS3Client(uri: URI, parameters: S3ClientCreationParameters): S3Client = {
    val http = createHttpClientBuilder(getConf).proxyConfiguration(createProxyConfiguration(getConf, uri.getHost))
    configured(S3Client.builder(), uri, parameters).httpClientBuilder(http.tlsTrustManagersProvider(trusted)).build()
  }

  override def createS3AsyncClient(uri: URI, parameters: S3ClientCreationParameters): S3AsyncClient = {
    val http =
      createAsyncHttpClientBuilder(getConf).proxyConfiguration(createAsyncProxyConfiguration(getConf, uri.getHost))
    configured(S3AsyncClient.builder(), uri, parameters)
      .httpClientBuilder(http.tlsTrustManagersProvider(trusted))
      .build()
  }

  /** The builder with all but the connection, as Hadoop configures its own, which it does in private. */
  private def configured[B <: S3BaseClientBuilder[B, _]](
      builder: B,
      uri: URI,
      parameters: S3ClientCreationParameters
  ): B = {
    val configure = classOf[DefaultS3ClientFactory].getDeclaredMethod(
      "configureClientBuilder",
      classOf[S3BaseClientBuilder[_, _]],
      classOf[S3ClientCreationParameters],
      classOf[Configuration],
      classOf[String]
    )
    configure.setAccessible(true)
    configure.invoke(this, builder, parameters, getConf, uri.getHost).asInstanceOf[B]
  }

  private def trusted: TlsTrustManagersProvider = {
    val text = getConf.get("fs.s3a.superfastpts.authorities").getBytes(US_ASCII)
    val authorities = KeyStore.getInstance(KeyStore.getDefaultType)
    authorities.load(null)
    CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(text)).asScala.zipWithIndex
      .foreach { case (certificate, number) => authorities.setCertificateEntry(number.toString, certificate) }
    val managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    managers.init(authorities)
    () => managers.getTrustManagers
  }
}
