import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'

const controller = '/sys/fs/cgroup/cpu'
/** Short, so that a process waits in many short intervals. */
const periodMicroseconds = 5_000

/** Whether `limitCpu` works: on Linux, as root, with control groups of version 1. */
export function canLimitCpu(): boolean {
  return existsSync(`${controller}/cpu.cfs_quota_us`) && process.getuid?.() === 0
}

/** Limits processes with all their threads to `percent` of a core together. Disposal ends the limit. */
export function limitCpu(pids: readonly number[], percent: number): Disposable {
  const folder = `${controller}/portico-${pids[0]}`
  mkdirSync(folder)
  writeFileSync(`${folder}/cpu.cfs_period_us`, String(periodMicroseconds))
  writeFileSync(`${folder}/cpu.cfs_quota_us`, String((periodMicroseconds * percent) / 100))
  move(pids, folder)
  return {
    [Symbol.dispose]: () => {
      move(pids, controller)
      rmdirSync(folder)
    },
  }
}

function move(pids: readonly number[], group: string): void {
  for (const pid of pids) writeFileSync(`${group}/cgroup.procs`, String(pid))
}
