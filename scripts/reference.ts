/* Writes the generated pages of docs/reference and other generated files. A test compares them with the committed files. */
import { readFileSync, writeFileSync } from 'node:fs'
import { clientReference } from './reference/client.ts'
import { configurationReference } from './reference/configuration.ts'
import { environmentReference } from './reference/environment.ts'
import { eventReference } from './reference/events.ts'
import { limitsReference } from './reference/limits.ts'
import { orderStatusReference } from './reference/order-statuses.ts'
import { prometheusRule } from './reference/prometheus-rule.ts'
import { refusalCodeReference } from './reference/refusal-codes.ts'

export const generatedPages: Readonly<Record<string, () => string>> = {
  'docs/reference/client.md': clientReference,
  'docs/reference/configuration.md': configurationReference,
  'docs/reference/environment.md': environmentReference,
  'docs/reference/events.md': eventReference,
  'docs/reference/limits.md': limitsReference,
  'docs/reference/order-statuses.md': orderStatusReference,
  'docs/reference/refusal-codes.md': refusalCodeReference,
  'deploy/kubernetes/monitoring/prometheus-rule.yaml': prometheusRule,
  // Helm reads only files of its chart.
  'deploy/helm/portico/files/prometheus-rule.yaml': prometheusRule,
  'deploy/helm/portico/files/dashboard.json': dashboard,
}

function dashboard(): string {
  return readFileSync(new URL('../deploy/grafana/portico.json', import.meta.url), 'utf8')
}

if (import.meta.main)
  for (const [path, render] of Object.entries(generatedPages))
    writeFileSync(new URL(`../${path}`, import.meta.url), render())
