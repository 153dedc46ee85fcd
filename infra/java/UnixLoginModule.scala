// In place of the class of this name in Java's module jdk.security.auth, by --patch-module, where the user has no line in
// /etc/passwd, as in containers with an id of their own. There Java's class fails on the missing name, and with it
// Hadoop's login, without which Spark does not start. The name is that of the variable USER.
package com.sun.security.auth.module

import java.util.{Map => JavaMap}
import javax.security.auth.Subject
import javax.security.auth.callback.CallbackHandler
import javax.security.auth.spi.LoginModule

import com.sun.security.auth.UnixPrincipal

class UnixLoginModule extends LoginModule {
  private[this] var subject: Subject = _
  private[this] val user = new UnixPrincipal(System.getenv("USER"))

  override def initialize(
      subject: Subject, handler: CallbackHandler, shared: JavaMap[String, _], options: JavaMap[String, _]): Unit =
    this.subject = subject

  override def login(): Boolean = true

  override def commit(): Boolean = {
    subject.getPrincipals.add(user)
    true
  }

  override def abort(): Boolean = true

  override def logout(): Boolean = {
    subject.getPrincipals.remove(user)
    true
  }
}
