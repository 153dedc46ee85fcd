package org.apache.spark.sql.superfastpts // where a query's plan can be reached

import org.apache.spark.api.python.PythonRDD
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, PythonUDF, UnsafeProjection}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.python.{MapInArrowExec, UserDefinedPythonFunction}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** A query that runs over one frame after another, as a database's prepared statement does: Spark analyzes and plans it
  * once, and writes its code once. It makes columns of rows, nothing more.
  *
  * @param first a frame with the columns that all of them have
  * @param query what is asked of it
  */
class PreparedQuery(first: DataFrame, query: DataFrame) {
  private val session = classic(first).sparkSession
  if (!session.experimental.extraStrategies.contains(MadeRows)) session.experimental.extraStrategies :+= MadeRows
  private val given = analyzed(first)
  private val (output, steps) = session.withActive {
    val rows = MadeRows(given.output, session.sparkContext.emptyRDD)
    val plan = analyzed(query).transformUp { case part if part == given => rows }
    val execution = Dataset.ofRows(session, plan).queryExecution
    (execution.analyzed.output, Step.all(execution.executedPlan))
  }

  /** Whether another frame has the same columns, and belongs to the same session. */
  def fits(other: DataFrame): Boolean = classic(other).sparkSession.eq(session) && other.schema == given.schema

  /** What the query is of another frame that fits. */
  def over(other: DataFrame): DataFrame = Dataset.ofRows(session, MadeRows(output.map(_.newInstance()), made(other)))

  /** What a function in Python makes of what the query is of another frame that fits: each task's, in one column of
    * bytes. Neither is planned.
    *
    * @return where PySpark reads them, as what `collect` gives: Py4J is slow with larger ones
    */
  def givenTo(function: UserDefinedPythonFunction, other: DataFrame): Array[Any] = session.withActive {
    val bytes = toAttributes(function.dataType.asInstanceOf[StructType])
    val called = PythonUDF(
      function.name, function.func, function.dataType, output, function.pythonEvalType, function.udfDeterministic
    )
    val tasks = MapInArrowExec(called, bytes, MadeRowsExec(output, made(other)), isBarrier = false, None)
    SQLExecution.withSQLConfPropagated(session) {
      PythonRDD.collectAndServe(tasks.execute().map(_.getBinary(0)))
    }
  }

  private def made(other: DataFrame): RDD[InternalRow] = {
    val execution = classic(other).queryExecution
    val rows = execution.analyzed match {
      case MadeRows(_, rows) => rows
      case _ => execution.toRdd
    }
    steps.foldLeft(rows)((read, step) => step.over(read))
  }

  private def classic(frame: DataFrame): Dataset[_] = frame.asInstanceOf[Dataset[_]]

  private def analyzed(frame: DataFrame): LogicalPlan = classic(frame).queryExecution.analyzed
}

/** Rows in Spark's own format. Of those of a `LogicalRDD`, each task would copy all, and write code for it first. */
private[sql] case class MadeRows(output: Seq[Attribute], rows: RDD[InternalRow]) extends LeafNode

private[sql] object MadeRows extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case MadeRows(output, rows) => Seq(MadeRowsExec(output, rows))
    case _ => Nil
  }
}

private case class MadeRowsExec(output: Seq[Attribute], rows: RDD[InternalRow]) extends LeafExecNode {
  override protected def doExecute(): RDD[InternalRow] = rows
}

/** What a task does with its rows, by a class of which it is given the source. */
private abstract class Step(source: CodeAndComment, references: Array[Any]) extends Serializable {
  def over(rows: RDD[InternalRow]): RDD[InternalRow] = rows.mapPartitionsWithIndex { (partition, read) =>
    run(CodeGenerator.compile(source)._1.generate(references), partition, read)
  }

  protected def run(made: Any, partition: Int, read: Iterator[InternalRow]): Iterator[InternalRow]
}

private object Step {

  /** Those of a plan, in the order in which rows go through them. */
  def all(plan: SparkPlan): List[Step] = plan match {
    case _: MadeRowsExec => Nil
    case InputAdapter(below) => all(below)
    case stage: WholeStageCodegenExec =>
      val (context, source) = stage.doCodeGen()
      val isTooLarge = CodeGenerator.compile(source)._2.maxMethodCodeSize > SQLConf.get.hugeMethodLimit
      if (isTooLarge) all(stage.child) else all(inputOf(stage.child)) :+ new Stage(source, context.references.toArray)
    case ProjectExec(columns, below) => all(below) :+ Projection(bindReferences(columns, below.output))
    case other => refuse(other)
  }

  private def inputOf(step: SparkPlan): SparkPlan = step match {
    case _: InputAdapter => step
    case ProjectExec(_, below) => inputOf(below)
    case other => refuse(other)
  }

  private def refuse(step: SparkPlan): Nothing =
    throw new UnsupportedOperationException(s"a prepared query cannot have a ${step.nodeName}")
}

/** Steps of a plan that Spark has made one class of. */
private class Stage(source: CodeAndComment, references: Array[Any]) extends Step(source, references) {
  override protected def run(made: Any, partition: Int, read: Iterator[InternalRow]): Iterator[InternalRow] = {
    val rows = made.asInstanceOf[BufferedRowIterator]
    rows.init(partition, Array(read))
    new Iterator[InternalRow] {
      override def hasNext: Boolean = rows.hasNext
      override def next(): InternalRow = rows.next()
    }
  }
}

/** Columns of which some expression has no code of its own, so that they can be in no stage. */
private class Projection(source: CodeAndComment, references: Array[Any]) extends Step(source, references) {
  override protected def run(made: Any, partition: Int, read: Iterator[InternalRow]): Iterator[InternalRow] = {
    val project = made.asInstanceOf[UnsafeProjection]
    project.initialize(partition)
    read.map(project)
  }
}

private object Projection {
  def apply(columns: Seq[Expression]): Projection = {
    val context = new CodegenContext
    val row = GenerateUnsafeProjection.createCode(context, columns, SQLConf.get.subexpressionEliminationEnabled)
    val source = s"""
      public Object generate(Object[] references) { return new Projection(references); }

      static final class Projection extends ${classOf[UnsafeProjection].getName} {
        private final Object[] references;
        ${context.declareMutableStates()}

        Projection(Object[] references) {
          this.references = references;
          ${context.initMutableStates()}
        }

        public void initialize(int partitionIndex) { ${context.initPartition()} }

        public Object apply(Object row) { return apply((InternalRow) row); }

        public UnsafeRow apply(InternalRow ${context.INPUT_ROW}) {
          ${row.code}
          return ${row.value};
        }

        ${context.declareAddedFunctions()}
      }"""
    new Projection(new CodeAndComment(source, context.getPlaceHolderToComments()), context.references.toArray)
  }
}
