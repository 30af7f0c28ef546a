import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './settings.ts'

const builders = [
  ['kustomize', 'build'],
  ['kubectl', 'kustomize'],
] as const

function isInstalled(program: string): boolean {
  return !spawnSync(program, ['--help'], { stdio: 'ignore' }).error
}

function run(program: string, args: readonly string[], input = ''): { code: number | null; out: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8' })
  return { code: status, out: `${stdout}${stderr}` }
}

const builder = builders.find(([program]) => isInstalled(program))

/** Whether kubeconform and kustomize or kubectl are installed. .ci/run installs them where Go is available. */
export function kubernetesToolsAreInstalled(): boolean {
  return builder !== undefined && isInstalled('kubeconform')
}

/** Returns the resources of a Kustomize folder as YAML. */
export function buildKustomization(folder: string): string {
  const [program = '', ...args] = builder ?? []
  const { code, out } = run(program, [...args, folder])
  if (code !== 0) throw new Error(out)
  return out
}

/** .ci/run installs it where Go is available. */
export function helmIsInstalled(): boolean {
  return isInstalled('helm')
}

const chart = join(root, 'deploy/helm/portico')

/** Renders the chart for the release and the namespace `portico`. `values` are YAML. */
export function renderChart(values = ''): { code: number | null; out: string } {
  return run('helm', ['template', 'portico', chart, '--namespace', 'portico', '--values', '-'], values)
}

export function lintChart(): { code: number | null; out: string } {
  return run('helm', ['lint', '--strict', chart])
}

/** Uses the schemas in this repository, because machines of tests cannot download others. */
export function kubeconform(resources: string): { code: number | null; out: string } {
  return run(
    'kubeconform',
    [
      '-strict',
      '-summary',
      '-schema-location',
      join(root, 'test/config/kubernetes-schemas/{{.ResourceKind}}{{.KindSuffix}}.json'),
    ],
    resources,
  )
}
