import type { Variables } from '../env.ts'
import { isLocal } from './server-urls.ts'

/**
 * The collector that gets the spans, or null. The OpenTelemetry SDK reads the variable again, and its other variables
 * itself.
 */
export function otlpEndpoint(variables: Variables, errors: string[]): string | null {
  const name = endpointVariable(variables)
  if (name === null) return null
  const text = variables[name] ?? ''
  const url = URL.parse(text)
  if (!/^https?:\/\//.test(text) || url === null || url.username !== '' || url.password !== '')
    errors.push(`${name}: must be a URL without credentials that begins with http:// or https://`)
  const { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: own, OTEL_EXPORTER_OTLP_PROTOCOL: common } = variables
  if ((own ?? common ?? 'http/protobuf') !== 'http/protobuf')
    errors.push(`${own ? 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL' : 'OTEL_EXPORTER_OTLP_PROTOCOL'}: must be http/protobuf`)
  return text
}

/** The headers of `OTEL_EXPORTER_OTLP_HEADERS` often contain a key. */
export function productionOtlpErrors(variables: Variables): string[] {
  const name = endpointVariable(variables)
  const url = name === null ? null : URL.parse(variables[name] ?? '')
  if (url?.protocol !== 'http:' || isLocal(url) || variables.OTEL_EXPORTER_OTLP_INSECURE === 'true') return []
  return [
    `${name}: must be https in production, or OTEL_EXPORTER_OTLP_INSECURE must be true to send spans without encryption`,
  ]
}

function endpointVariable(variables: Variables) {
  if (variables.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return null
  const names = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const
  return names.find((name) => variables[name] !== undefined) ?? null
}
