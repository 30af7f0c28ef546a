import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { buildKustomization, kubeconform, kubernetesToolsAreInstalled } from '../harness/kubernetes.ts'
import { needs } from '../harness/needs.ts'
import { root } from '../harness/settings.ts'

const Resource = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) })

function kindsOf(resources: string): string[] {
  return loadAll(resources)
    .map((each) => Resource.parse(each).kind)
    .sort()
}

const deploy = join(root, 'deploy/kubernetes')
const guide = readFileSync(join(root, 'docs/guides/kubernetes.md'), 'utf8')

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
