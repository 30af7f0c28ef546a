/*
 * Prints the number and the amount of every transfer of the demo workspace, oldest first, with the typed client.
 *
 *   npx node examples/client/list.mjs [http://127.0.0.1:8080] [http://127.0.0.1:9090]
 *
 * In a project of your own, import from 'portico/client'.
 */
import { createClient, iterate } from '../../src/client/index.ts'

const [baseUrl = 'http://127.0.0.1:8080', operationsUrl = 'http://127.0.0.1:9090'] = process.argv.slice(2)
const email = 'owner@demo.test'

/** Returns the newest code in the development outbox. In a portal, ask the user instead. */
const readCode = async () => {
  const mails = await (await fetch(`${operationsUrl}/mail.json`)).json()
  return /\b\d{6}\b/.exec(mails.find(({ to, template }) => to === email && template === 'login-code').text)[0]
}

const client = createClient({ baseUrl, portal: 'CONSUMER', accessCode: 'consumer-dev', edgeHeaders: true })
await client.signIn({ email, password: 'Portico-demo-2026', code: readCode })

let count = 0
for await (const transfer of iterate(client.listTransfers, { query: { sortOrder: 'asc' } })) {
  console.log(`${transfer.orderNo}: ${transfer.amount} ${transfer.currency}`)
  count += 1
}
console.log(`${count} transfers`)

await client.signOut()
await client.close()
