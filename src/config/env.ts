import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const folder = new URL('../../', import.meta.url)

/**
 * Returns the absolute path of the package, or of a file in it. Builds have the same depth in the package as this file,
 * so one relative path fits both.
 */
export const inPackage = (path = ''): string => fileURLToPath(new URL(path, folder))

const Package = z.object({ version: z.string() })

/** Returns the version in package.json. */
export const packageVersion = (): string =>
  Package.parse(JSON.parse(readFileSync(inPackage('package.json'), 'utf8'))).version

/** The environment variables and their descriptions. This is the only file that reads `process.env`. */
export const variableTexts = {
  PORT: 'Port of the portal listener (8080)',
  OPS_PORT: 'Port of the operations listener (9090)',
  HOST: 'Address that both listeners bind to (127.0.0.1)',
  PORTICO_PROFILE: '`development` (default) or `production`',
  PORTICO_CONFIG: 'YAML file with settings that override config/default.yaml',
  PORTICO_DATA_DIR: 'Folder of the embedded store and of files on disk (`./data`)',
  DATABASE_URL:
    'PostgreSQL 15 or newer instead of the embedded store. Required in production unless `database.acceptEmbedded` is true',
  REDIS_URL: 'Redis for several replicas: limits, channel sessions, messages. Without it only one gateway runs',
  SMTP_URL: 'Mail server instead of the development outbox. In production `smtps://…`, or `smtp://…?requireTLS=true`',
  PORTICO_SECRET_KEY: '32 random bytes in base64 (`openssl rand -base64 32`). Required in production',
  PORTICO_RATE_LIMIT_SCALE: 'Factor for every limit (1). At most 1 in production',
  LOG_LEVEL: 'Minimum log level (`info`)',
} as const

/** The data directory if PORTICO_DATA_DIR is unset. */
export const defaultDataDirectory = 'data'

export type VariableName = keyof typeof variableTexts
const names = Object.keys(variableTexts) as VariableName[]
export type Variables = Partial<Record<VariableName, string>>

/** Reads the variables. An empty variable counts as unset. */
export const readVariables = (): Variables => {
  const variables: Variables = {}
  for (const name of names) {
    const value = process.env[name]
    if (value !== undefined && value !== '') variables[name] = value
  }
  return variables
}

const number = (text: string): number | string => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)

/** Returns the variables as settings. A value that is not a number stays text, and the schema refuses it. */
export const variableSettings = (variables: Variables): Record<string, unknown> => {
  const listen = {
    ...(variables.HOST && { host: variables.HOST }),
    ...(variables.PORT && { port: number(variables.PORT) }),
    ...(variables.OPS_PORT && { operationsPort: number(variables.OPS_PORT) }),
  }
  return {
    listen,
    ...(variables.PORTICO_PROFILE && { profile: variables.PORTICO_PROFILE }),
    ...(variables.LOG_LEVEL && { log: { level: variables.LOG_LEVEL } }),
    ...(variables.PORTICO_RATE_LIMIT_SCALE && { limits: { scale: number(variables.PORTICO_RATE_LIMIT_SCALE) } }),
  }
}

const variableOf: Record<string, string> = {
  'listen.host': 'HOST',
  'listen.port': 'PORT',
  'listen.operationsPort': 'OPS_PORT',
  profile: 'PORTICO_PROFILE',
  'log.level': 'LOG_LEVEL',
  'limits.scale': 'PORTICO_RATE_LIMIT_SCALE',
}

/** Returns the name of a setting for error messages, with the variable that sets it. */
export const settingName = (path: string): string => (variableOf[path] ? `${path} (${variableOf[path]})` : path)
