import type { TestProject } from 'vitest/node'
import { createTemplate } from '../harness/template.ts'

/** The browser's tests run on the embedded store, whatever the topologies of the others. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const template = await createTemplate()
  project.provide('embeddedTemplate', template.directory)
  return template.remove
}
