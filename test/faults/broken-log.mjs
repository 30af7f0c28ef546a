import fs from 'node:fs'

/* Loaded with --import. After SIGUSR2, writes to the write-ahead log fail. */
const { openSync, writeSync } = fs
const logs = new Set()
let isBroken = false
process.on('SIGUSR2', () => {
  isBroken = true
  process.stderr.write('the log is broken\n')
})
fs.openSync = (path, ...others) => {
  const handle = openSync(path, ...others)
  if (String(path).includes('/pg_wal/')) logs.add(handle)
  else logs.delete(handle)
  return handle
}
fs.writeSync = (handle, ...others) => {
  if (isBroken && logs.has(handle)) throw Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO', errno: -5 })
  return Reflect.apply(writeSync, fs, [handle, ...others])
}
