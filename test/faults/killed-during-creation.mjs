import fs from 'node:fs'

/*
 * Loaded with --import. Kills the process while PGlite unpacks a new store, after PG_VERSION, which marks a store,
 * exists.
 */
const open = fs.openSync
fs.openSync = (path, ...others) => {
  if (String(path).endsWith('/pg/pg_hba.conf')) process.kill(process.pid, 'SIGKILL')
  return open(path, ...others)
}
