import { context, type DiagLogger, DiagLogLevel, diag, trace } from '@opentelemetry/api'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Logger } from 'pino'
import { errorCode, messageOf } from '../../kernel/index.ts'
import { waitFor } from '../runtime/index.ts'

/** Less than the time that `portico serve` has to close. The rest of the spans is lost. */
const maxFlushMs = 3_000

const packages = ['sdk-trace-base', 'resources', 'context-async-hooks', 'exporter-trace-otlp-proto']

/** The name of a process in logs and traces. */
export interface Process {
  version: string
  replica: string
}

/**
 * Exports spans to the collector of `OTEL_EXPORTER_OTLP_ENDPOINT`. The SDK reads this and its other variables, such as
 * `OTEL_SERVICE_NAME` and `OTEL_TRACES_SAMPLER`. It keeps at most 2,048 spans (`OTEL_BSP_MAX_QUEUE_SIZE`), and drops
 * further ones. The returned function sends the rest.
 */
export async function startExport({ version, replica }: Process, logger: Logger): Promise<() => Promise<void>> {
  if (isSdkLoaded()) {
    logger.info('another OpenTelemetry SDK is loaded and exports the traces')
    return async () => undefined
  }
  const sdk = await importSdk()
  const own = { 'service.name': 'portico', 'service.version': version, 'service.instance.id': replica }
  const resource = sdk.resourceFromAttributes(own).merge(sdk.detectResources({ detectors: [sdk.envDetector] }))
  const provider = reportInvalidVariables(logger, () => {
    const exporter = reportFailures(new sdk.OTLPTraceExporter(), logger)
    return new sdk.BasicTracerProvider({ resource, spanProcessors: [new sdk.BatchSpanProcessor(exporter)] })
  })
  context.setGlobalContextManager(new sdk.AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(provider)
  return async () => {
    trace.disable()
    context.disable()
    await waitFor(
      provider.shutdown().catch(() => undefined),
      maxFlushMs,
    )
  }
}

/** Without an SDK, the id of a span is invalid. */
function isSdkLoaded(): boolean {
  return trace.isSpanContextValid(trace.getTracer('portico').startSpan('probe').spanContext())
}

async function importSdk() {
  try {
    const [base, resources, contexts, exporter] = await Promise.all([
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/exporter-trace-otlp-proto'),
    ])
    return { ...base, ...resources, ...contexts, ...exporter }
  } catch (cause) {
    if (errorCode(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause
    const names = packages.map((name) => `@opentelemetry/${name}`).join(' ')
    throw new Error(`OTEL_EXPORTER_OTLP_ENDPOINT needs optional packages: npm install ${names}`, { cause })
  }
}

/**
 * The SDK reports invalid variables only to `diag`, and continues with defaults, such as to record every request. `diag`
 * is disabled again, because later it gets a stack per failed batch.
 */
function reportInvalidVariables<T>(logger: Logger, setUp: () => T): T {
  // Values of headers contain keys.
  const report = (message: string): void =>
    logger.warn({ reason: message.replace(/invalid value \(.*\)/s, 'an invalid value') }, 'invalid OTEL_* variable')
  const ignore = (): void => undefined
  const reporter: DiagLogger = { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore }
  diag.setLogger(reporter, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  try {
    return setUp()
  } finally {
    diag.disable()
  }
}

/** Logs one line when the collector fails, and one when it works again, instead of one per batch. */
function reportFailures(exporter: SpanExporter, logger: Logger): SpanExporter {
  let lost = 0
  return {
    export: (spans: ReadableSpan[], done) =>
      exporter.export(spans, (result) => {
        const isFailed = result.code !== 0
        if (isFailed && lost === 0) logger.warn({ reason: messageOf(result.error) }, 'traces cannot be exported')
        if (!isFailed && lost > 0) logger.info({ lost }, 'traces are exported again')
        lost = isFailed ? lost + spans.length : 0
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}
