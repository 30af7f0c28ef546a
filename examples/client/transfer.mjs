/*
 * Signs in, transfers 5.00 USD between two wallets and signs out, with the typed client.
 *
 *   npx node examples/client/transfer.mjs [http://127.0.0.1:8080] [http://127.0.0.1:9090]
 *
 * In a project of your own, import from 'portico/client'.
 */
import { createClient, isPorticoError } from '../../src/client/index.ts'

const [baseUrl = 'http://127.0.0.1:8080', operationsUrl = 'http://127.0.0.1:9090'] = process.argv.slice(2)
const email = 'owner@demo.test'

/** Returns the newest code in the development outbox. In a portal, ask the user instead. */
const readCode = async () => {
  const mails = await (await fetch(`${operationsUrl}/mail.json`)).json()
  return /\b\d{6}\b/.exec(mails.find(({ to, template }) => to === email && template === 'login-code').text)[0]
}

// An edge sets the edge headers in production. Here the client sets them.
const client = createClient({ baseUrl, portal: 'CONSUMER', accessCode: 'consumer-dev', edgeHeaders: true })
await client.signIn({ email, password: 'Portico-demo-2026', code: readCode })

const wallets = await client.listWallets()
const source = wallets.find(({ walletName }) => walletName === 'Main USD')
const target = wallets.find(({ walletName }) => walletName === 'Savings USD')
const body = { sourceWalletBizId: source.bizId, targetWalletBizId: target.bizId, amount: '5.00', currency: 'USD' }

const order = await client.createTransfer({ body })
console.log(`${order.orderNo}: ${order.transferStatus.label}`)

try {
  await client.createTransfer({ body: { ...body, amount: '1000000.00' } })
} catch (error) {
  if (!isPorticoError(error, 'WALLET.INSUFFICIENT_FUNDS')) throw error
  console.log(`${error.code}: ${error.message}`)
}

await client.signOut()
await client.close()
