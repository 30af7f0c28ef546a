import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, inject } from 'vitest'
import { root } from '../harness/settings.ts'
import { type Finished, runIn } from '../package/user.ts'

const pages = ['', '-python', '-java-go', '-kotlin']
  .map((name) => readFileSync(join(root, `docs/guides/generate-a-client${name}.md`), 'utf8'))
  .join('\n')

/** Returns the block of a section of the guides, with the addresses of the running gateway. */
function blockOf(heading: string, language: string): string {
  const section = pages.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? ''
  const block = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(section)?.[1]
  if (block === undefined) throw new Error(`the section ${heading} of the guide has no block in ${language}`)
  const { url, operationsUrl } = inject('generators')
  return block.replaceAll('http://127.0.0.1:8080', url).replaceAll('http://127.0.0.1:9090', operationsUrl)
}

export interface Section {
  /** Outside the repository, so that tools find no configuration and no packages. */
  folder: string
  printed: string
}

/** What OpenAPI Generator reports for each document of OpenAPI 3.1, for the header Range, and for the filter `type` in Go. */
const harmless =
  /OpenAPI 3\.1 support is still in beta|Failed to get the schema name: null|(range|type) \(reserved word\)|Ignoring complex example/

/** Runs the commands of a section in an empty folder. They must not print warnings. */
export async function follow(heading: string): Promise<Section> {
  const folder = await mkdtemp(join(inject('runFolder'), 'generated-'))
  const { code, stdout, stderr } = await runIn(folder, ['bash', '-ec', blockOf(heading, 'sh')])
  const printed = stdout + stderr
  expect(code, printed).toBe(0)
  const warnings = printed.split('\n').filter((line) => /\b(WARN(ING)?|ERROR)\b|Unable/.test(line))
  expect(warnings.filter((line) => !harmless.test(line))).toEqual([])
  return { folder, printed }
}

/** Writes the program of a section. */
export async function writeProgram(heading: string, language: string, file: string): Promise<void> {
  return writeFile(file, blockOf(heading, language))
}

export async function runSuccessfully(folder: string, command: readonly string[]): Promise<Finished> {
  const finished = await runIn(folder, command)
  expect(finished.code, finished.stdout + finished.stderr).toBe(0)
  return finished
}

/**
 * Runs the program of a section, which signs in, lists wallets and makes a transfer. Programs take turns, because each reads
 * the latest code that was mailed to the demo account.
 */
export async function expectTransfer(folder: string, command: readonly string[]): Promise<void> {
  const lock = join(inject('runFolder'), 'sign-in')
  while (
    await mkdir(lock).then(
      () => false,
      () => true,
    )
  )
    await pause(100)
  try {
    const { stdout } = await runSuccessfully(folder, command)
    expect(stdout).toMatch(/Main USD.*COMPLETED/s)
  } finally {
    await rmdir(lock)
  }
}

/** Whether each program starts. */
export function isInstalled(...commands: (readonly [string, ...string[]])[]): boolean {
  return commands.every(([program, ...args]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0)
}
