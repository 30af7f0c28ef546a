import fs from 'node:fs'

/*
 * Loaded before a gateway (node --import), in tests only. It kills the process while PGlite unpacks the last files of a
 * new store. PG_VERSION, which marks a store, exists already at that time.
 */
const open = fs.openSync
fs.openSync = (path, ...others) => {
  if (String(path).endsWith('/pg/pg_hba.conf')) process.kill(process.pid, 'SIGKILL')
  return open(path, ...others)
}
