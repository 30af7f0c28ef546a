import { spawnSync } from 'node:child_process'

/** Runs promtool. Returns its exit code and what it printed. */
export function promtool(args: readonly string[], input = ''): { code: number | null; out: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  return { code: status, out: `${stdout}${stderr}` }
}

/** Whether promtool is installed. Throws if it is missing and CI=true. */
export function promtoolIsInstalled(): boolean {
  if (!spawnSync('promtool', ['--version']).error) return true
  if (process.env.CI === 'true') throw new Error('no promtool to test with')
  return false
}
