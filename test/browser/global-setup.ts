import type { TestProject } from 'vitest/node'
import { nameSkipped } from '../harness/global-setup.ts'
import { chromiumPath } from './chromium.ts'

/** Reports the suite as skipped if there is no Chromium. */
export default (project: TestProject): void => {
  if (chromiumPath !== null) return
  if (process.env.CI === 'true') throw new Error('no Chromium to test with')
  nameSkipped(project, 'no Chromium on this machine')
}
