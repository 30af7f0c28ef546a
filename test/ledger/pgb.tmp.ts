import { execFileSync } from 'node:child_process'
import { startPostgres } from '../harness/postgres.ts'
const s = await startPostgres()
const u = new URL(s!.url)
const b = '/usr/lib/postgresql/15/bin/pgbench'
const base = ['-h', '127.0.0.1', '-p', u.port, '-U', 'portico', 'postgres']
execFileSync(b, ['-i', '-s', '10', '-q', ...base], { stdio: 'ignore' })
for (const c of ['1', '16']) console.log(execFileSync(b, ['-M', 'prepared', '-n', '-c', c, '-j', '1', '-T', '4', ...base], { encoding: 'utf8' }).split('\n').filter((l) => /tps|latency/.test(l)).join(' | '))
console.log(execFileSync(b, ['-M', 'prepared', '-n', '-S', '-c', '1', '-j', '1', '-T', '3', ...base], { encoding: 'utf8' }).split('\n').filter((l) => /tps|latency/.test(l)).join(' | '))
await s!.stop()
