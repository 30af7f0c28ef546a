import type { WatchedHandlers } from '../handlers.ts'
import type { Route } from '../routes.ts'
import type { Suite } from './suite.ts'

/** Register this suite last: it judges the refusals that the other suites have caused. */
export function registerRefusals(routes: readonly Route[], { runner }: Suite, handlers: WatchedHandlers): void {
  const { test, assertEqual } = runner
  const operations = new Map(routes.map(({ operation }) => [operation.id, operation]))
  for (const [id, operation] of operations)
    test(`${id}: refuses with declared codes only`, async () => {
      assertEqual(handlers.undeclaredRefusals(operation), [], `list the codes in \`refuses\` of '${id}'`)
    })
}
