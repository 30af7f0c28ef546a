import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load, loadAll } from 'js-yaml'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Configuration, ConfigurationError, loadConfiguration } from '../../src/config/index.ts'
import { productionKey, root } from '../harness/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-deployments-'))
afterAll(() => rmSync(folder, { recursive: true }))

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
const kubernetes = textOf('deploy/kubernetes/portico.yaml')
const compose = textOf('compose.yaml')
const image = textOf('Dockerfile')
const documented = textOf('docs/guides/deploy.md')

/** The gateway's own file, as it stands within an orchestrator's; one that runs by it has these variables beside it. */
const settingsBy = (yaml: string, variables: Record<string, string> = {}): Configuration => {
  const PORTICO_CONFIG = join(folder, 'portico.yaml')
  writeFileSync(PORTICO_CONFIG, yaml)
  const stores = { DATABASE_URL: 'postgres://portico@store/portico', REDIS_URL: 'redis://store' }
  return loadConfiguration({ PORTICO_CONFIG, ...stores, ...variables })
}

const inKubernetes = (): string => {
  const found = loadAll(kubernetes).map((each) =>
    z.object({ data: z.object({ 'portico.yaml': z.string() }) }).safeParse(each),
  )
  return found.find(({ success }) => success)?.data?.data['portico.yaml'] ?? ''
}
const inCompose = (): string =>
  textOf(
    z.object({ configs: z.object({ edge: z.object({ file: z.string() }) }) }).parse(load(compose)).configs.edge.file,
  )

const number = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1])

const drains = z.object({ shutdown: z.object({ delayMs: z.int(), timeoutMs: z.int() }) })

/** What `serve` takes at most from SIGTERM to its end, by this configuration: docs/guides/deploy.md. */
const drainSeconds = (yaml: string): number => {
  const { shutdown } = drains.parse(load(yaml))
  return (shutdown.delayMs + shutdown.timeoutMs) / 1_000 + 5
}

test('the configuration of the Kubernetes example is refused for its access codes, which everybody can read, and for nothing else', () => {
  const variables = { PORTICO_PROFILE: 'production', PORTICO_SECRET_KEY: productionKey, SMTP_URL: 'smtps://mail' }
  const start = () => settingsBy(inKubernetes(), variables)
  expect(start).toThrow(ConfigurationError)
  expect(start).toThrow(
    /has 2 error\(s\):\s+- portals\.CONSUMER\.accessCodes: .*example\s+- portals\.SYSTEM\.accessCodes: .*example$/,
  )
})

test('what compose.yaml lays over the defaults is a configuration, in a file, since Docker puts nothing else into a root that is read only', () => {
  expect(settingsBy(inCompose()).portals.CONSUMER.edge).toMatchObject({ kind: 'cloudflare' })
})

test('none of them kills a gateway that still drains, nor does the command that is documented', () => {
  const usual = drainSeconds(textOf('config/default.yaml'))
  expect(number(kubernetes, /terminationGracePeriodSeconds: (\d+)/)).toBeGreaterThan(drainSeconds(inKubernetes()))
  expect(number(compose, /stop_grace_period: (\d+)s/)).toBeGreaterThan(usual)
  expect(number(documented, /docker run .*--stop-timeout (\d+)/)).toBeGreaterThan(usual)
})

test('the image, and both that run it, let it write to /data and /tmp alone, and as nobody’s root', () => {
  const [user, base] = [/^USER (\d+):\1$/m.exec(image)?.[1], /^ARG BASE=(\S+)$/m.exec(image)?.[1]]
  expect(number(kubernetes, /runAsUser: (\d+)/)).toBe(Number(user))
  expect(Number(user)).toBeGreaterThan(0)
  expect(base).toMatch(/^docker\.io\/library\/node:\d+\.\d+\.\d+-/)
  expect(kubernetes).toMatch(/readOnlyRootFilesystem: true/)
  expect(compose).toMatch(/read_only: true/)
  expect(
    [...kubernetes.matchAll(/mountPath: ([^,} ]+)(, readOnly: true)?/g)].flatMap(([, path, only]) =>
      only ? [] : [path],
    ),
  ).toEqual(['/data', '/tmp'])
})
