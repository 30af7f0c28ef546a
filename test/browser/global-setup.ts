import type { TestProject } from 'vitest/node'
import { nameSkipped } from '../harness/global-setup.ts'
import { createTemplate } from '../harness/template.ts'
import { chromiumPath } from './chromium.ts'

/** Browser tests run on the embedded store, whatever the topology of the others. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  if (chromiumPath === null) {
    if (process.env.CI === 'true') throw new Error('no Chromium to test with')
    nameSkipped(project, 'no Chromium on this machine')
    return async () => undefined
  }
  const template = await createTemplate()
  project.provide('embeddedTemplate', template.directory)
  return template.remove
}
