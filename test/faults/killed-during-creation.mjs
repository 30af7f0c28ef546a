import fs from 'node:fs'

/*
 * Tests load it before a gateway (node --import). It kills the process while PGlite unpacks the last files of a new store,
 * when PG_VERSION, which marks a store, exists already.
 */
const open = fs.openSync
fs.openSync = (path, ...others) => {
  if (String(path).endsWith('/pg/pg_hba.conf')) process.kill(process.pid, 'SIGKILL')
  return open(path, ...others)
}
