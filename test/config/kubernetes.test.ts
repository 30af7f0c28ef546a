import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load, loadAll } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { buildKustomization, kubeconform, kubernetesToolsAreInstalled } from '../harness/kubernetes.ts'
import { needs } from '../harness/needs.ts'
import { loadSettings, root } from '../harness/settings.ts'

const Resource = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) })

function kindsOf(resources: string): string[] {
  return loadAll(resources)
    .map((each) => Resource.parse(each).kind)
    .sort()
}

const deploy = join(root, 'deploy/kubernetes')
const guide = readFileSync(join(root, 'docs/guides/kubernetes.md'), 'utf8')
const postgresql = readFileSync(join(root, 'docs/guides/postgresql.md'), 'utf8')

function resourcesIn(file: string): unknown[] {
  return loadAll(readFileSync(join(deploy, 'base', file), 'utf8'))
}

const Egress = z.object({
  spec: z.object({
    egress: z.array(z.object({ ports: z.array(z.object({ port: z.int() })).default([]), to: z.unknown().optional() })),
  }),
})

test('gateways reach the ports of PostgreSQL, PgBouncer, Redis, mail servers and S3', () => {
  const pooler = /^listen_port = (\d+)$/m.exec(postgresql)?.[1]
  const rules = resourcesIn('network-policies.yaml').flatMap((each) => Egress.safeParse(each).data?.spec.egress ?? [])
  const anywhere = rules.filter(({ to }) => to === undefined).flatMap(({ ports }) => ports.map(({ port }) => port))
  expect(new Set(anywhere)).toEqual(new Set([53, 5432, Number(pooler), 6379, 465, 587, 443]))
})

const Configuration = z.object({
  listen: z.object({ operationsAllowedHosts: z.array(z.string()) }),
  files: z.object({ storage: z.object({ kind: z.string() }) }),
})
const configuration = Configuration.parse(
  load(readFileSync(join(root, 'deploy/helm/portico/files/portico.yaml'), 'utf8')),
)

test('the operations listener accepts each name of its service in the namespace of the guide', () => {
  const namespace = /kubectl create namespace (\S+)/.exec(guide)?.[1]
  const [, service] = resourcesIn('services.yaml').map((each) => Resource.parse(each).metadata.name)
  expect(configuration.listen.operationsAllowedHosts).toEqual([
    'localhost',
    service,
    ...['', '.svc', '.svc.cluster.local'].map((suffix) => `${service}.${namespace}${suffix}`),
  ])
})

test('uploaded files are in S3, and no pod keeps anything on its disk', () => {
  expect(configuration.files.storage.kind).toBe('s3')
  for (const file of ['deployment.yaml', 'migration-job.yaml'])
    expect(readFileSync(join(deploy, 'base', file), 'utf8').match(/name: \w+, emptyDir/g)).toEqual([
      'name: tmp, emptyDir',
    ])
  expect(guide).toMatch(/`portico\.env` contains [^.]*`AWS_ACCESS_KEY_ID` and\s+`AWS_SECRET_ACCESS_KEY`/)
})

test('the most pods open fewer connections than the PgBouncer of the guide accepts', () => {
  const Scaler = z.object({ spec: z.object({ maxReplicas: z.int() }) })
  const scaler = resourcesIn('scaling.yaml').find((each) => Scaler.safeParse(each).success)
  const { maxReplicas } = Scaler.parse(scaler).spec
  // docs/guides/postgresql.md: up to four more for the ledger check, cleanup and the singleton lock.
  const connections = maxReplicas * (loadSettings({}).database.poolSize + 4)
  expect(guide).toContain(`${connections} with ${maxReplicas} pods`)
  expect(Number(/^max_client_conn = (\d+)$/m.exec(postgresql)?.[1])).toBeGreaterThan(connections)
})

const tools = needs(kubernetesToolsAreInstalled(), 'kustomize and kubeconform are not installed')

describe('the Kubernetes resources, with kustomize and kubeconform', tools, () => {
  test('the base is valid: gateways, listeners, ingress, network policies, migration and scaling', () => {
    const resources = buildKustomization(join(deploy, 'base'))
    expect(kubeconform(resources)).toEqual({ code: 0, out: expect.stringContaining('Valid: 10, Invalid: 0') })
    expect(new Set(kindsOf(resources))).toEqual(
      new Set([
        'ConfigMap',
        'Deployment',
        'HorizontalPodAutoscaler',
        'Ingress',
        'Job',
        'NetworkPolicy',
        'PodDisruptionBudget',
        'Service',
      ]),
    )
  })

  test('the monitoring is valid: ServiceMonitor, alert rules and dashboard', () => {
    const resources = buildKustomization(join(deploy, 'monitoring'))
    expect(kubeconform(resources)).toEqual({ code: 0, out: expect.stringContaining('Valid: 3, Invalid: 0') })
    expect(kindsOf(resources)).toEqual(['ConfigMap', 'PrometheusRule', 'ServiceMonitor'])
  })

  test('an unknown field is not valid', () => {
    const broken = buildKustomization(join(deploy, 'base')).replaceAll('containerPort', 'containerPorts')
    expect(kubeconform(broken)).toEqual({ code: 1, out: expect.stringContaining('containerPorts') })
  })

  describe('the overlay of docs/guides/kubernetes.md', () => {
    let folder: string
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'portico-overlay-'))
      cpSync(join(root, 'deploy'), join(folder, 'portico/deploy'), { recursive: true })
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    test('replaces the configuration, the image and the host names', () => {
      const [, overlay = ''] = /^ *```yaml\n(.*?)^ *```$/ms.exec(guide) ?? []
      writeFileSync(join(folder, 'kustomization.yaml'), overlay.replaceAll(/^ {3}/gm, ''))
      writeFileSync(join(folder, 'portico.yaml'), 'publicUrl: https://portal.internal\n')
      const resources = buildKustomization(folder)
      expect(kubeconform(resources)).toEqual({ code: 0, out: expect.stringContaining('Valid: 10, Invalid: 0') })
      expect(resources.match(/image: .*/g)).toEqual([
        'image: registry.internal/portico:0.1.0',
        'image: registry.internal/portico:0.1.0',
      ])
      expect(resources).toContain('publicUrl: https://portal.internal')
      expect(resources).not.toMatch(/portal\.example\.com|registry\.example\.com/)
      expect(resources.match(/^ {2}namespace: portico$/gm)).toHaveLength(10)
    })
  })
})
