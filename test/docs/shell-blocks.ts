import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../harness/settings.ts'

export interface ShellBlock {
  file: string
  script: string
}

export function documentationFiles(): string[] {
  return ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: root }).sort()]
}

export function shellBlocks(): ShellBlock[] {
  return documentationFiles().flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return [...text.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, script = '']) => ({ file, script }))
  })
}
