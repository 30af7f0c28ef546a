import type { EventRow } from '../../src/contract/events/event.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'
import { generatedFrom, table } from './markdown.ts'

export function eventReference(): string {
  const objects = Map.groupBy([...bankingCatalogue.events], ([type]) => type.slice(0, type.indexOf('.')))
  const sections = [...objects].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `${generatedFrom('the contracts')}# Events

The type of an event is the object and what happened to it. Its \`data\` is the object as its readers read it elsewhere, with
English labels. It shows the object as the change left it; names of other objects are the present ones.

A reader sees the types whose permission it holds at that moment. Operators need the one in their column. The
last column has the operations that can cause the event. "none" means that only background jobs do.
[Events](../concepts/events.md) explains the rest. A stolen session cookie that is used again ends its session in any operation.

These changes have no event:

- The expiry of an API key or a session, because it follows from a stored time. \`expiresAt\` is the end of a key.
- The use of an API key, the activity of a session, and the deletion of old sessions.
- The deletion of payout accounts by the reset of a sandbox.

A background job records the expiry of invitations within a minute. A proposal is recorded as expired with the next proposal about
the same account.

${sections.map(([object, events]) => toSection(object, events)).join('\n')}`
}

function toSection(object: string, events: readonly (readonly [string, EventRow])[]): string {
  const rows = events.map(([type, { summary, audience, permission, operatorPermission }]) => [
    `\`${type}\``,
    summary,
    audience === 'workspace' ? `\`${permission}\`` : '',
    operatorPermission === null ? '' : `\`${operatorPermission}\``,
    bankingCatalogue.operations
      .flatMap(({ id, emits = [] }) => (emits.includes(type) ? [`\`${id}\``] : []))
      .sort()
      .join(', ') || 'none',
  ])
  return `## ${object}

${table(['type', 'when', 'members', 'operators', 'operations'], rows)}
`
}
