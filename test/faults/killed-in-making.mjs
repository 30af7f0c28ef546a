import fs from 'node:fs'

/*
 * Loaded before a gateway (node --import) by tests alone: the process is killed as PGlite unpacks the last files of a new store,
 * when PG_VERSION, by which it is told that there is one, is there already.
 */
const open = fs.openSync
fs.openSync = (path, ...others) => {
  if (String(path).endsWith('/pg/pg_hba.conf')) process.kill(process.pid, 'SIGKILL')
  return open(path, ...others)
}
