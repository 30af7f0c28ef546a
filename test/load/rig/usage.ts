import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const hasProc = existsSync('/proc/self/stat')
const ticks = hasProc ? Number(execFileSync('getconf', ['CLK_TCK']).toString()) : 100

/** Parses times of `ps`, such as `1-02:03:04.56` or `03:04`, to seconds. */
function secondsIn(text: string): number {
  const [time = '', days = '0'] = text.trim().split('-').reverse()
  return Number(days) * 86_400 + time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
}

function psOf(pid: number, field: string): string {
  return execFileSync('ps', ['-o', `${field}=`, '-p', String(pid)]).toString()
}

/** All threads, in seconds. */
export function cpuSecondsOf(pid: number): number {
  if (!hasProc) return secondsIn(psOf(pid, 'time'))
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticks
}

export function residentBytesOf(pid: number): number {
  return Number(psOf(pid, 'rss')) * 1024
}

/** The process first, then its children. Requires Linux. */
export function processTree(pid: number): number[] {
  const children = readdirSync('/proc').filter((each) => /^\d+$/.test(each) && parentOf(each) === pid)
  return [pid, ...children.map(Number)]
}

function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return null
  }
}
