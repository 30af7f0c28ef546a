/** The only file that reads the process's environment. The names are fixed: design.md section 7. */
const names = [
  'PORT',
  'OPS_PORT',
  'HOST',
  'PORTICO_PROFILE',
  'PORTICO_CONFIG',
  'PORTICO_DATA_DIR',
  'DATABASE_URL',
  'REDIS_URL',
  'SMTP_URL',
  'PORTICO_SECRET_KEY',
  'PORTICO_RATE_LIMIT_SCALE',
  'LOG_LEVEL',
] as const

export type VariableName = (typeof names)[number]
export type Variables = Partial<Record<VariableName, string>>

/** The variables that are set; an empty one counts as unset. */
export const readVariables = (environment: NodeJS.ProcessEnv = process.env): Variables => {
  const variables: Variables = {}
  for (const name of names) {
    const value = environment[name]
    if (value !== undefined && value !== '') variables[name] = value
  }
  return variables
}
