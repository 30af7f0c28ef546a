import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { errorCode } from '../kernel/index.ts'

const folder = new URL('../../', import.meta.url)

/** Builds are as deep in the package as this file, so one relative path works for both. */
export function inPackage(path = ''): string {
  return fileURLToPath(new URL(path, folder))
}

const Package = z.object({ version: z.string() })

export function packageVersion(): string {
  return Package.parse(JSON.parse(readFileSync(inPackage('package.json'), 'utf8'))).version
}

/** This is the only file that reads `process.env`. */
export const variableTexts = {
  PORT: 'Port of the portal listener (8080)',
  OPS_PORT: 'Port of the operations listener (9090)',
  HOST: 'Address that both listeners bind to (127.0.0.1)',
  OPS_HOST: 'Address that the operations listener binds to (`HOST`)',
  PORTICO_PROFILE: '`development` (default) or `production`',
  PORTICO_CONFIG: 'YAML file with settings that override config/default.yaml',
  PORTICO_DATA_DIR: 'Folder of the embedded store and of files on disk (`./data`)',
  DATABASE_URL:
    'PostgreSQL 15 or newer, which replaces the embedded store. Required in production unless `database.acceptEmbedded` is true',
  REDIS_URL:
    'Redis, which several replicas share for limits, channel sessions and messages. Without it, only one gateway can run',
  SMTP_URL:
    'Mail server that replaces the development outbox. In production, `smtps://…`, or `smtp://…?requireTLS=true`',
  PORTICO_SECRET_KEY: '32 random bytes in base64 (`openssl rand -base64 32`). Required in production',
  PORTICO_SECRET_KEY_PREVIOUS:
    'Other secret keys whose values remain valid during a rotation, separated by commas. See the guide on key rotation',
  PORTICO_RATE_LIMIT_SCALE: 'Factor for every limit (1). At most 1 in production',
  LOG_LEVEL: 'Minimum log level (`info`)',
  LOG_FORMAT: '`json`, `pretty`, or `auto` (default): `pretty` on a terminal and `json` elsewhere',
  PORTICO_SECRET_KEY_FILE: 'File with the value of `PORTICO_SECRET_KEY`',
  PORTICO_SECRET_KEY_PREVIOUS_FILE: 'File with the value of `PORTICO_SECRET_KEY_PREVIOUS`',
  DATABASE_URL_FILE: 'File with the value of `DATABASE_URL`',
  REDIS_URL_FILE: 'File with the value of `REDIS_URL`',
  SMTP_URL_FILE: 'File with the value of `SMTP_URL`',
  OTEL_EXPORTER_OTLP_ENDPOINT:
    'URL of an OTLP collector, such as `https://collector.example:4318`. Sets `tracing.enabled` and exports the spans as http/protobuf. See the guide on monitoring for other variables of OpenTelemetry',
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'Like `OTEL_EXPORTER_OTLP_ENDPOINT`, with the path: `https://…/v1/traces`',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'Must be `http/protobuf`, the default, if spans are exported',
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'Like `OTEL_EXPORTER_OTLP_PROTOCOL`',
  OTEL_EXPORTER_OTLP_INSECURE:
    'Whether production can export spans to another host without TLS. Needed for an endpoint with http://',
  OTEL_SDK_DISABLED: 'If it is `true`, no spans are exported',
  NODE_ENV: 'If it is `production`, Portico refuses to start without `PORTICO_PROFILE`',
  NODE_EXTRA_CA_CERTS: 'PEM file with further certificate authorities. `portico config check` opens it',
  NODE_TLS_REJECT_UNAUTHORIZED: 'With `0`, Node accepts every certificate. Production refuses it',
  AWS_ENDPOINT_URL_S3:
    'URL of the S3-compatible store if `files.storage.endpoint` is not set. In production, `https`, like the setting',
  AWS_ENDPOINT_URL: 'Like `AWS_ENDPOINT_URL_S3`, which takes precedence',
} as const

const secretNames = [
  'PORTICO_SECRET_KEY',
  'PORTICO_SECRET_KEY_PREVIOUS',
  'DATABASE_URL',
  'REDIS_URL',
  'SMTP_URL',
] as const

export const defaultDataDirectory = 'data'

export type VariableName = keyof typeof variableTexts
const names = Object.keys(variableTexts) as VariableName[]
export type Variables = Partial<Record<VariableName | `PORTICO_${string}`, string>>

export function isVariableName(name: string): name is VariableName {
  return Object.hasOwn(variableTexts, name)
}

/** The supervisor of `serve --workers` sets it for its workers. People do not. */
export const workerVariable = 'PORTICO_WORKER'

export function readWorkerVariable(): string | undefined {
  return process.env[workerVariable]
}

/** Includes unknown ones that begin with `PORTICO_`, to report them. An empty variable counts as unset. */
export function readVariables(): Variables {
  const variables: Variables = {}
  for (const name of new Set([...names, ...Object.keys(process.env).filter(isOurs)])) {
    const value = process.env[name]
    if (value !== undefined && value !== '') variables[name] = value
  }
  return variables
}

/** Errors name the variable, never a value. */
export function readSecretFiles(variables: Variables, errors: string[]): Variables {
  const values = { ...variables }
  for (const name of secretNames) {
    const file = variables[`${name}_FILE`]
    if (file === undefined) continue
    if (variables[name] !== undefined) {
      errors.push(`${name}_FILE: cannot be combined with ${name}; unset one`)
      continue
    }
    try {
      const value = readSecret(file)
      if (value === '') errors.push(`${name}_FILE: ${file} is empty; write the value into it`)
      else values[name] = value
    } catch (error) {
      errors.push(
        `${name}_FILE: cannot read ${file} (${errorCode(error) ?? 'unreadable'}); check its path and permissions`,
      )
    }
  }
  return values
}

/** The schema rejects a text where it needs a number. */
export function variableSettings(variables: Variables): Record<string, unknown> {
  const listen = {
    ...(variables.HOST && { host: variables.HOST }),
    ...(variables.PORT && { port: number(variables.PORT) }),
    ...(variables.OPS_HOST && { operationsHost: variables.OPS_HOST }),
    ...(variables.OPS_PORT && { operationsPort: number(variables.OPS_PORT) }),
  }
  return {
    listen,
    ...(variables.PORTICO_PROFILE && { profile: variables.PORTICO_PROFILE }),
    ...((variables.LOG_LEVEL || variables.LOG_FORMAT) && {
      log: {
        ...(variables.LOG_LEVEL && { level: variables.LOG_LEVEL }),
        ...(variables.LOG_FORMAT && { format: variables.LOG_FORMAT }),
      },
    }),
    ...(variables.PORTICO_RATE_LIMIT_SCALE && { limits: { scale: number(variables.PORTICO_RATE_LIMIT_SCALE) } }),
  }
}

const variableOf: Record<string, string> = {
  'listen.host': 'HOST',
  'listen.port': 'PORT',
  'listen.operationsHost': 'OPS_HOST',
  'listen.operationsPort': 'OPS_PORT',
  profile: 'PORTICO_PROFILE',
  'log.level': 'LOG_LEVEL',
  'log.format': 'LOG_FORMAT',
  'limits.scale': 'PORTICO_RATE_LIMIT_SCALE',
}

export function settingName(path: string): string {
  return variableOf[path] ? `${path} (${variableOf[path]})` : path
}

function isOurs(name: string): name is `PORTICO_${string}` {
  return name.startsWith('PORTICO_') && name !== workerVariable
}

function readSecret(file: string): string {
  return readFileSync(file, 'utf8').replace(/[\r\n]+$/, '')
}

function number(text: string): number | string {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}
