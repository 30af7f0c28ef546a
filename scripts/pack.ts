import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { clientFolder } from './client-package.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const Packed = z.tuple([z.looseObject({ filename: z.string() })])

/** Builds both packages. Returns the paths of their tarballs. */
export function pack(folder: string): { portico: string; client: string } {
  return {
    portico: packFolder(root, folder),
    client: packFolder(join(root, clientFolder), folder),
  }
}

function packFolder(cwd: string, folder: string): string {
  const args = ['pack', '--json', '--silent', '--pack-destination', folder]
  const output = execFileSync('npm', args, { cwd, encoding: 'utf8' })
  // Skip the output of the prepack scripts.
  return join(folder, Packed.parse(JSON.parse(output.slice(output.indexOf('[\n'))))[0].filename)
}
