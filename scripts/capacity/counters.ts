/* Readings of a PostgreSQL server and a Redis server, before and after a load. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Client } from 'pg'
import type { TestRedis } from '../../test/harness/redis.ts'

export interface TableSize {
  rows: number
  /** With its indexes and TOAST. */
  bytes: number
}

export interface Reading {
  postgresCpuSeconds: number
  redisCpuSeconds: number
  redisCommands: number
  redisBytes: number
  walPosition: string
}

/** The client must be connected to the database of the gateway. */
export async function readCounters(client: Client, redis: TestRedis): Promise<Reading> {
  const information = await redis.query('INFO all')
  const { rows } = await client.query<{ pid: number; wal: string }>(
    'SELECT pg_backend_pid() AS pid, pg_current_wal_flush_lsn()::text AS wal',
  )
  const [{ pid, wal } = { pid: 0, wal: '' }] = rows
  return {
    postgresCpuSeconds: serverCpuSeconds(parentOf(pid)),
    redisCpuSeconds: field(information, 'used_cpu_user') + field(information, 'used_cpu_sys'),
    redisCommands: field(information, 'total_commands_processed'),
    redisBytes: field(information, 'used_memory'),
    walPosition: wal,
  }
}

export interface WalBytes {
  records: number
  /** Of whole pages, at the first change of a page after a checkpoint. */
  pages: number
}

/** Needs the extension `pg_walinspect`. */
export async function walBetween(client: Client, from: string, to: string): Promise<WalBytes> {
  const { rows } = await client.query<{ records: string; pages: string }>(
    'SELECT sum(record_size) AS records, sum(fpi_size) AS pages FROM pg_get_wal_stats($1, $2, false)',
    [from, to],
  )
  return { records: Number(rows[0]?.records), pages: Number(rows[0]?.pages) }
}

export async function tableSizes(client: Client): Promise<Record<string, TableSize>> {
  const { rows } = await client.query<{ name: string; bytes: string; rows: string }>(`
    SELECT relname AS name, pg_total_relation_size(oid) AS bytes,
           (xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', relname), false, true, '')))[1]::text AS rows
      FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`)
  return Object.fromEntries(rows.map((each) => [each.name, { rows: Number(each.rows), bytes: Number(each.bytes) }]))
}

function field(information: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(information)?.[1] ?? Number.NaN)
}

/** The fields after the name of the program, which can contain spaces (proc(5)). */
function statOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text
    .slice(text.lastIndexOf(')') + 4)
    .split(' ')
    .map(Number)
}

const [parent, firstTime, secondTime] = [0, 10, 11]
const ticksPerSecond = 100

function parentOf(pid: number): number {
  return statOf(pid)[parent] ?? 0
}

/** With the processes that have ended, whose times their parent keeps. */
function serverCpuSeconds(server: number): number {
  const running = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [statOf(Number(name))]
      } catch {
        // The process has ended.
        return []
      }
    })
    .filter((stat) => stat[parent] === server)
  const ended = statOf(server)
    .slice(firstTime, secondTime + 3)
    .reduce((sum, ticks) => sum + ticks, 0)
  const ticks = running.reduce((sum, stat) => sum + (stat[firstTime] ?? 0) + (stat[secondTime] ?? 0), ended)
  return ticks / ticksPerSecond
}
