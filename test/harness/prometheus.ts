import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { isInstalled } from './needs.ts'
import { freePort } from './postgres.ts'
import { root } from './settings.ts'

const program = '/usr/bin/prometheus'

const Samples = z.object({
  data: z.object({
    result: z.array(z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) })),
  }),
})
const Labels = z.record(z.string(), z.string())
const Series = z.object({ data: z.array(Labels) })
const Exemplars = z.object({ data: z.array(z.object({ exemplars: z.array(z.object({ labels: Labels })) })) })

export interface TestPrometheus {
  /** Evaluates an instant query. */
  query(expression: string): Promise<z.infer<typeof Samples>['data']['result']>
  /** Returns the labels of the series that match a selector. */
  series(selector: string): Promise<z.infer<typeof Series>['data']>
  /** Returns the labels of the exemplars of the last ten minutes. */
  exemplars(selector: string): Promise<z.infer<typeof Labels>[]>
  stop(): Promise<void>
}

export const prometheusIsInstalled = (): boolean => isInstalled(program)

/** The configuration can name alerts.yaml, the shipped rules. */
export async function startPrometheus(configuration: string): Promise<TestPrometheus> {
  const port = await freePort()
  const directory = await mkdtemp(join(tmpdir(), 'portico-prometheus-'))
  const file = join(directory, 'prometheus.yaml')
  await writeFile(file, configuration)
  await copyFile(join(root, 'deploy/prometheus/alerts.yaml'), join(directory, 'alerts.yaml'))
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
    '--enable-feature=exemplar-storage',
  ]
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const get = async (path: string, parameters: Record<string, string>): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    return response.json()
  }
  return {
    query: async (query) => Samples.parse(await get('query', { query })).data.result,
    series: async (selector) => Series.parse(await get('series', { 'match[]': selector })).data,
    exemplars: async (query) => {
      const now = Date.now() / 1000
      const range = { query, start: String(now - 600), end: String(now + 600) }
      return Exemplars.parse(await get('query_exemplars', range)).data.flatMap(({ exemplars }) =>
        exemplars.map(({ labels }) => labels),
      )
    },
    stop: async () => {
      process.off('exit', kill)
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      await rm(directory, { recursive: true, force: true })
    },
  }
}
