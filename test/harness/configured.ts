import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import type { Variables } from '../../src/config/env.ts'
import { type PorticoProcess, startProcess } from './process.ts'

export async function startConfigured(
  variables: Variables,
  configuration: object,
  role: 'gateway' | 'domains' = 'gateway',
  nodeArguments: readonly string[] = [],
  options: readonly string[] = [],
): Promise<PorticoProcess & { file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'portico-configured-'))
  const file = join(folder, 'portico.yaml')
  await writeFile(file, dump(configuration))
  const started = await startProcess({ ...variables, PORTICO_CONFIG: file }, role, nodeArguments, options)
  return {
    ...started,
    file,
    stop: async () => {
      const code = await started.stop()
      await rm(folder, { recursive: true, force: true })
      return code
    },
  }
}
