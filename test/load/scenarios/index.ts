import type { Options } from '../options.ts'
import type { Outcome } from '../report/outcome.ts'
import type { Rig } from '../rig/workspace.ts'
import { proxiedGet, proxiedPost } from './proxied.ts'

export type Scenario = (rig: Rig, options: Options) => Promise<Outcome>

/** Each with a rig of its own, in this order. */
export const scenarios: Record<string, Scenario> = {
  'proxied-get': proxiedGet,
  'proxied-post': proxiedPost,
}
