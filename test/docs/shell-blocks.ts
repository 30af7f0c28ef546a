import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../harness/settings.ts'

export interface ShellBlock {
  file: string
  script: string
}

/** What users and contributors read. */
export const documentationFiles = (): string[] => [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** Everything fenced as sh in what users read. */
export const shellBlocks = (): ShellBlock[] =>
  documentationFiles().flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = '']) => ({ file, script }))
  })
