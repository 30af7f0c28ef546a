/* The steps of a guide: its files and commands. */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { inject } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { root } from '../harness/settings.ts'
import { type Finished, runIn } from './user.ts'

export interface Block {
  language: string
  text: string
}

export function blocksOf(guide: string): Block[] {
  return [...readFileSync(join(root, guide), 'utf8').matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
    ([, language = '', text = '']) => ({ language, text }),
  )
}

/** A file begins with a comment that names it. */
export function fileIn({ text }: Block): string | undefined {
  return /^(?:\/\/|#) (\S+\.\w+)\n/.exec(text)?.[1]
}

export async function writeBlock(folder: string, file: string, { text }: Block): Promise<void> {
  await mkdir(join(folder, dirname(file)), { recursive: true })
  await writeFile(join(folder, file), text)
}

/** The registry lacks the package under test. The tools have the versions of this clone. */
function installed(script: string): string {
  const { devDependencies } = manifest
  const tools = Object.entries(devDependencies).filter(([name]) => /^(typescript|vitest|@types\/node)$/.test(name))
  return tools
    .reduce((text, tool) => text.replace(` ${tool[0]}`, ` ${tool.join('@')}`), script)
    .replace(/^npm install --ignore-scripts portico\b/m, `npm install --ignore-scripts ${inject('package').tarball}`)
}

export function runBlock(folder: string, { text }: Block, variables: NodeJS.ProcessEnv = {}): Promise<Finished> {
  return runIn(folder, ['bash', '-ec', installed(text)], {
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    ...variables,
  })
}
