import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load, loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import { ConfigurationError } from '../../src/config/index.ts'
import {
  buildKustomization,
  helmIsInstalled,
  kubeconform,
  kubernetesToolsAreInstalled,
  lintChart,
  renderChart,
} from '../harness/kubernetes.ts'
import { needs } from '../harness/needs.ts'
import { productionKey, root } from '../harness/settings.ts'
import { configurationFile } from './configuration-file.ts'

const Resource = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) })
const Configured = Resource.extend({ kind: z.literal('ConfigMap'), data: z.object({ 'portico.yaml': z.string() }) })

const monitored = 'monitoring: { enabled: true }'
const guide = readFileSync(join(root, 'docs/guides/kubernetes.md'), 'utf8')

/** Without what differs by design: names that end with a hash, and the form of the configuration. */
function comparable(yaml: string): unknown[] {
  const named = yaml
    .replaceAll(nameOfConfiguration(yaml), 'portico')
    .replaceAll(/^ *checksum\/configuration: .*\n/gm, '')
    .replaceAll(/^ *annotations:\n(?= *(# .*\n *)?spec:)/gm, '')
    .replaceAll(/portico-migrate-[0-9a-f]{10}/g, 'portico-migrate')
  return loadAll(named)
    .map((each) => {
      const configured = Configured.safeParse(each).data
      return configured ? { ...configured, data: load(configured.data['portico.yaml']) } : Resource.parse(each)
    })
    .sort((a, b) => keyOf(a).localeCompare(keyOf(b)))
}

function nameOfConfiguration(yaml: string): string {
  const found = loadAll(yaml).find((each) => Configured.safeParse(each).success)
  return Configured.parse(found).metadata.name
}

function keyOf({ kind, metadata }: z.output<typeof Resource>): string {
  return `${kind} ${metadata.name}`
}

function rendered(values = ''): string {
  const { code, out } = renderChart(values)
  expect(code, out).toBe(0)
  return out
}

const { load: loadSettings } = configurationFile()

function settingsIn(yaml: string) {
  const found = loadAll(yaml).find((each) => Configured.safeParse(each).success)
  return loadSettings(Configured.parse(found).data['portico.yaml'], {
    PORTICO_PROFILE: 'production',
    PORTICO_SECRET_KEY: productionKey,
    DATABASE_URL: 'postgres://portico@store:6432/portico?sslmode=verify-full',
    REDIS_URL: 'rediss://store',
    SMTP_URL: 'smtps://mail',
  })
}

test('the chart has the version of the package', () => {
  const chart = z
    .object({ version: z.string(), appVersion: z.string() })
    .parse(load(readFileSync(join(root, 'deploy/helm/portico/Chart.yaml'), 'utf8')))
  const values = readFileSync(join(root, 'deploy/helm/portico/values.yaml'), 'utf8')
  expect(chart).toMatchObject({ version: manifest.version, appVersion: manifest.version })
  expect(values).toContain(`image: registry.example.com/portico:${manifest.version}\n`)
})

const tools = {
  ...needs(helmIsInstalled(), 'helm is not installed'),
  ...needs(kubernetesToolsAreInstalled(), 'kustomize and kubeconform are not installed'),
}

describe('the Helm chart, with helm, kustomize and kubeconform', tools, () => {
  test('has exactly the resources of the Kustomize base and of the monitoring', () => {
    const [base, monitoring] = ['base', 'monitoring'].map((folder) =>
      buildKustomization(join(root, 'deploy/kubernetes', folder)),
    )
    const resources = comparable(rendered(monitored))
    expect(resources).toHaveLength(13)
    expect(resources).toEqual(comparable(`${base}---\n${monitoring}`))
    expect(comparable(rendered())).toEqual(comparable(base ?? ''))
  })

  test('is valid', () => {
    expect(kubeconform(rendered(monitored))).toEqual({
      code: 0,
      out: expect.stringContaining('Valid: 13, Invalid: 0'),
    })
    expect(lintChart()).toEqual({ code: 0, out: expect.stringContaining('0 chart(s) failed') })
  })

  test('renders the values of docs/guides/kubernetes.md into a valid configuration', () => {
    const documented = [...guide.matchAll(/^```yaml\n(# values\.yaml\n.*?)^```$/gms)].map(([, yaml = '']) => yaml)
    const digest = 'the SHA-256 digest of the code'
    const resources = rendered(documented.join('').replace(digest, 'c'.repeat(64)).replace(digest, 'd'.repeat(64)))
    expect(kubeconform(resources)).toEqual({ code: 0, out: expect.stringContaining('Valid: 13, Invalid: 0') })
    expect(resources.match(/image: .*/g)).toEqual(Array(2).fill('image: registry.internal/portico:0.1.0'))
    expect(resources).not.toContain('portal.example.com')
    expect(settingsIn(resources)).toMatchObject({
      publicUrl: 'https://portal.internal',
      tokens: { issuer: 'https://portal.internal' },
      mail: { from: 'Portal <no-reply@portal.internal>' },
      files: { storage: { kind: 's3', bucket: 'portico-files' } },
      portals: { CONSUMER: { edge: { kind: 'cloudflare', trustedProxies: ['10.0.7.0/28'] } } },
      shutdown: { delayMs: 10_000 },
    })
  })

  test('the default values: a gateway refuses the published access codes', () => {
    expect(() => settingsIn(rendered())).toThrow(ConfigurationError)
  })

  test('replicas, secrets and further variables follow the values', () => {
    const resources = rendered(`
autoscaling: { enabled: false }
replicas: 5
secret: other
migrationSecret: other-migration
extraEnv: [{ name: LOG_LEVEL, value: warn }]
`)
    expect(kubeconform(resources)).toEqual({ code: 0, out: expect.stringContaining('Valid: 9, Invalid: 0') })
    expect(resources).not.toContain('HorizontalPodAutoscaler')
    expect(resources).toMatch(/^ {2}replicas: 5$/m)
    expect(resources.match(/secretRef: .*/g)).toEqual(Array(2).fill('secretRef: { name: other } }]'))
    expect(resources).toContain('secretKeyRef: { name: other-migration, key: DATABASE_URL, optional: true }')
    expect(resources.match(/LOG_LEVEL/g)).toHaveLength(2)
  })

  test('another image or configuration: another migration job and other pods', () => {
    const identityOf = (values = '') => rendered(values).match(/portico-migrate-\w+|checksum\/configuration: \w+/g)
    const [first, image, settings] = [
      identityOf(),
      identityOf('image: registry.example.com/portico:0.2.0'),
      identityOf('configuration: { shutdown: { delayMs: 15000 } }'),
    ]
    expect(first).toHaveLength(2)
    expect(image?.filter((each) => first?.includes(each))).toEqual(first?.filter((each) => each.startsWith('checksum')))
    expect(settings?.filter((each) => first?.includes(each))).toEqual([])
  })

  test('a value that the chart does not have is refused', () => {
    expect(renderChart('replica: 5')).toEqual({ code: 1, out: expect.stringContaining("'replica' not allowed") })
  })
})
