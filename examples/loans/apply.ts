/* Applies for a loan with the typed client: `node apply.ts <URL of the gateway> <API key>`. */
import { createApiClient } from 'portico/client'
import * as loans from './contract.ts'

const [baseUrl = 'http://127.0.0.1:8080', apiKey = ''] = process.argv.slice(2)
const client = createApiClient({ baseUrl, apiKey, contract: [loans] })
const loan = await client.applyForLoan({ body: { amount: '250.00', currency: 'USD' } })
console.log(`${loan.amount} ${loan.currency}: ${loan.loanStatus.label}`)
