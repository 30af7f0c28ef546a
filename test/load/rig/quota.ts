import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'

const controller = '/sys/fs/cgroup/cpu'
/** Short, so that a process waits in many short intervals. */
const periodMicroseconds = 5_000

/** Whether `limitCpu` works: on Linux, as root, with control groups of version 1. */
export function canLimitCpu(): boolean {
  return existsSync(`${controller}/cpu.cfs_quota_us`) && process.getuid?.() === 0
}

/** Limits all threads of a process to `percent` of a core. Disposal ends the limit. */
export function limitCpu(pid: number, percent: number): Disposable {
  const folder = `${controller}/portico-${pid}`
  mkdirSync(folder)
  writeFileSync(`${folder}/cpu.cfs_period_us`, String(periodMicroseconds))
  writeFileSync(`${folder}/cpu.cfs_quota_us`, String((periodMicroseconds * percent) / 100))
  writeFileSync(`${folder}/cgroup.procs`, String(pid))
  return {
    [Symbol.dispose]: () => {
      writeFileSync(`${controller}/cgroup.procs`, String(pid))
      rmdirSync(folder)
    },
  }
}
