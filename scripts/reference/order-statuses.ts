import { bankingCatalogue } from '../../src/contract/index.ts'
import { isLifeCycle, type LifeCycle, type Move } from '../../src/contract/ledger/life-cycle.ts'
import { generatedFrom, table } from './markdown.ts'

const funds = { HELD: 'held', RELEASED: 'released', CAPTURED: 'spent' } as const

export function orderStatusReference(): string {
  const types = [...bankingCatalogue.ledgerTypes.orders.values()].flatMap((type) => (isLifeCycle(type) ? [type] : []))
  return `${generatedFrom('the order types of the contracts')}# Order statuses

A move changes the status of an order. From another status, it gets 409 \`STATE.CONFLICT\`. The history of the order and the audit
log record each move. [The ledger](../concepts/ledger.md#orders) explains orders. [The life cycle of an
order](../guides/order-life-cycle.md) describes how to declare them.

${types.map(toSection).join('\n')}`
}

function toSection(type: LifeCycle): string {
  const rows = Object.entries(type.moves).map(([name, move]) => [
    `\`${name}\``,
    makerOf(move),
    move.from.join(', ') || 'a new order',
    move.to.join(', '),
    move.holds ? funds[move.holds] : '',
  ])
  return `## ${type.name}

The order numbers start with ${type.prefix}.

\`\`\`mermaid
stateDiagram-v2
${arrowsOf(type).join('\n')}
\`\`\`

${table(['move', 'by', 'from', 'to', 'funds'], rows)}
`
}

/** Without the moves of a sandbox. */
function arrowsOf({ moves, final }: LifeCycle): string[] {
  const arrows = Object.entries(moves).flatMap(([name, { by, from, to }]) =>
    by === 'sandbox'
      ? []
      : [
          ...(from.length === 0 ? ['[*]'] : from).map((status) => `  ${status} --> ${to[0]}: ${name}`),
          ...to.slice(1).map((status, index) => `  ${to[index]} --> ${status}`),
        ],
  )
  return [...new Set([...arrows, ...final.map((status) => `  ${status} --> [*]`)])]
}

function makerOf(move: Move): string {
  switch (move.by) {
    case 'member':
      return 'a member'
    case 'operator':
      return `an operator with \`${move.permission}\``
    case 'clock':
      return 'the expiry'
    case 'sandbox':
      return 'the reset of a sandbox'
  }
}
