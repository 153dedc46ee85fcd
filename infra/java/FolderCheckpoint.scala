package superfastpts

import java.nio.channels.Channels
import java.nio.file.{Files, Path => File, FileAlreadyExistsException => IsThere}
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.{CREATE_NEW, WRITE}
import java.nio.file.attribute.{FileAttribute, PosixFilePermissions}
import java.util.UUID
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager

/** Files of a streaming checkpoint in a folder: of two jobs that plan the same batch, one makes the file.
  *
  * For each file, Spark's own managers have Hadoop start processes (`chmod`), of it and of a checksum beside it: with two
  * files in every batch, that took longer than all else that Spark does between batches.
  */
class FolderCheckpointFileManager(path: Path, configuration: Configuration)
    extends FileSystemBasedCheckpointFileManager(path, configuration) {

  private val permissions: FileAttribute[_] = PosixFilePermissions.asFileAttribute(
    PosixFilePermissions.fromString(
      FsPermission.getFileDefault.applyUMask(FsPermission.getUMask(configuration)).toString
    )
  )

  override def createAtomic(path: Path, overwriteIfPossible: Boolean): CancellableFSDataOutputStream = {
    val file = File.of(path.toUri.getPath)
    val temporary = file.resolveSibling(s".${file.getFileName}.${UUID.randomUUID}.tmp")
    new InPlaceWhenClosed(file, temporary, permissions, overwriteIfPossible)
  }
}

private class InPlaceWhenClosed(file: File, temporary: File, permissions: FileAttribute[_], mayOverwrite: Boolean)
    extends CancellableFSDataOutputStream(
      Channels.newOutputStream(Files.newByteChannel(temporary, java.util.Set.of(CREATE_NEW, WRITE), permissions))
    ) {

  private val hasEnded = new AtomicBoolean

  override def close(): Unit =
    if (!hasEnded.getAndSet(true)) {
      try {
        super.close()
        // Hadoop's, of a file that was there and is gone: it would hold the new one against it.
        Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
        if (mayOverwrite) Files.move(temporary, file, ATOMIC_MOVE) else Files.createLink(file, temporary)
      } catch {
        case error: IsThere => throw new FileAlreadyExistsException(s"$file is there already").initCause(error)
      } finally Files.deleteIfExists(temporary)
    }

  override def cancel(): Unit =
    if (!hasEnded.getAndSet(true)) {
      super.close()
      Files.deleteIfExists(temporary)
    }
}
