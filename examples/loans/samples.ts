/* The settings and the valid input with which the tests of the loans domain run. */
import type { Place, Samples } from 'portico/testing'
import * as contract from './contract.ts'

export const settings = { domains: { loans: { maxAmount: '5000.00', capital: { USD: '100000.00' } } } }

const body = { amount: '250.00', currency: 'USD' }

export const samples: Samples = {
  'loans.apply': () => ({ body }),
  'loans.approve': async (place) => ({ params: await requestedLoan(place) }),
  'loans.repay': async (place) => {
    const params = await requestedLoan(place)
    await place.run(contract.approveLoan, { params })
    return { params, body: { amount: '100.00' } }
  },
}

async function requestedLoan(place: Place) {
  return {
    loan_id: (await place.run(contract.applyForLoan, { body })).bizId,
  }
}
