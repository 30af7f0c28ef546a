/** The only file that reads the process's environment. The names are fixed: design.md section 7. */
export const variableTexts = {
  PORT: 'where the portal listens (8080)',
  OPS_PORT: 'where the operations listener listens (9090)',
  HOST: 'the address that both listen on (127.0.0.1)',
  PORTICO_PROFILE: '`development` (default) or `production`',
  PORTICO_CONFIG: 'a YAML file, laid over config/default.yaml',
  PORTICO_DATA_DIR: "where the embedded store and the disk's blobs live (`./data`)",
  DATABASE_URL:
    'PostgreSQL 15 or newer instead of the embedded store; required in production unless `database.acceptEmbedded` is true',
  REDIS_URL: 'what several replicas share: limits, channel sessions, messages; without it one gateway alone runs',
  SMTP_URL: 'a mail server instead of the development outbox; in production `smtps://…`, or `smtp://…?requireTLS=true`',
  PORTICO_SECRET_KEY: '32 random bytes in base64 (`openssl rand -base64 32`); required in production',
  PORTICO_RATE_LIMIT_SCALE: 'multiplies every limit (1); at most 1 in production',
  LOG_LEVEL: '`info` by default',
} as const

/** Where PORTICO_DATA_DIR names none. */
export const defaultDataDirectory = 'data'

export type VariableName = keyof typeof variableTexts
const names = Object.keys(variableTexts) as VariableName[]
export type Variables = Partial<Record<VariableName, string>>

/** The variables that are set; an empty one counts as unset. */
export const readVariables = (): Variables => {
  const variables: Variables = {}
  for (const name of names) {
    const value = process.env[name]
    if (value !== undefined && value !== '') variables[name] = value
  }
  return variables
}

const number = (text: string): number | string => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)

/** The variables as an overlay of the configuration; what is no number stays text, for the schema to refuse. */
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

/** The name under which a user knows a setting, with the variable that fills it. */
export const settingName = (path: string): string => (variableOf[path] ? `${path} (${variableOf[path]})` : path)
