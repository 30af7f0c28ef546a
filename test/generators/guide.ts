import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject } from 'vitest'
import { root } from '../harness/settings.ts'
import { type Finished, runIn } from '../package/user.ts'

const page = readFileSync(join(root, 'docs/guides/generate-a-client.md'), 'utf8')

/** Returns the block of a section of the guide, with the addresses of the running gateway. */
function blockOf(heading: string, language: string): string {
  const section = page.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? ''
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

/** Runs the commands of a section in an empty folder. */
export async function follow(heading: string): Promise<Section> {
  const folder = await mkdtemp(join(inject('runFolder'), 'generated-'))
  const { code, stdout, stderr } = await runIn(folder, ['bash', '-ec', blockOf(heading, 'sh')])
  expect(code, stdout + stderr).toBe(0)
  return { folder, printed: stdout + stderr }
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

/** Whether each program starts. */
export function isInstalled(...commands: (readonly [string, ...string[]])[]): boolean {
  return commands.every(([program, ...args]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0)
}
