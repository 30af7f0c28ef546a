import { own } from '../../src/contract/policies.ts'
import { operation } from '../../src/kernel/index.ts'

/** A service behind HTTP answers it with any bytes. */
export const readReport = operation({
  id: 'feed.report',
  method: 'GET',
  path: '/feed/report',
  chains: ['consumer'],
  summary: 'Read a report',
  policy: { ...own, channel: 'none' },
  body: 'none',
  reply: 'raw',
  refuses: [],
})
