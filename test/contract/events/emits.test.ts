import { expect, test } from 'vitest'
import * as transfers from '../../../src/banking/transfers/contract.ts'
import { joinContracts } from '../../../src/contract/catalogue.ts'
import { bankingCatalogue, identityContracts } from '../../../src/contract/index.ts'
import { operationsIn } from '../../../src/kernel/index.ts'
import { document, readerOf } from '../../openapi/document-reader.ts'

const { createTransfer, cancelTransfer } = transfers
const errorsOf = (...args: Parameters<typeof joinContracts>) =>
  joinContracts(...args).errors.flatMap(({ message }) => (message.includes('emits') ? [message] : []))

test('emits: derives from the moves of an order type', () => {
  expect(createTransfer.emits).toEqual(['transfer.completed', 'transfer.pending_approval'])
  expect(cancelTransfer.emits).toEqual(['transfer.cancelled'])
  expect(transfers.approveTransfer.emits).toEqual(['transfer.completed'])
  expect(transfers.rejectTransfer.emits).toEqual(['transfer.failed'])
})

test('emits: a type that nobody declares is an error that names operation, owner and type', () => {
  const loans = { grantLoan: { ...cancelTransfer, id: 'loans.grant', emits: ['loan.granted'] } }
  expect(errorsOf({}, { loans })).toEqual([
    'operations.grantLoan.emits: loans.grant of loans emits loan.granted, which no owner declares; add it to events',
  ])
})

test('emits: a type of a domain that is off passes, and no operation of the document has it', () => {
  const loans = { grantLoan: { ...cancelTransfer, id: 'loans.grant', emits: ['transfer.failed'] } }
  expect(errorsOf({}, { loans }, { off: { transfers } })).toEqual([])
})

test('emits: an order type whose events its domain does not record passes', () => {
  const { events: _, ...others } = transfers
  expect(errorsOf({}, { transfers: others })).toEqual([])
})

test('emits: the document has it in x-portico', () => {
  const { at, operationOf } = readerOf(document)
  expect(at(operationOf('consumer', 'transfers.create'), 'x-portico', 'emits')).toEqual(createTransfer.emits)
  expect(at(operationOf('system', 'recharges.allowReference'), 'x-portico', 'emits')).toBeUndefined()
  expect(at(operationOf('consumer', 'transfers.list'), 'x-portico', 'emits')).toBeUndefined()
})

test('emits: each type of an order type that no clock causes alone is in it', () => {
  const emitted = new Set(bankingCatalogue.operations.flatMap(({ emits = [] }) => emits))
  const orders = new Set([...bankingCatalogue.ledgerTypes.orders.values()].map(({ owner }) => owner))
  const types = [...bankingCatalogue.events].flatMap(([type, { owner }]) => (orders.has(owner) ? [type] : []))
  expect(types.filter((type) => !emitted.has(type))).toEqual(['transfer.expired', 'recharge.expired'])
})

test('emits: the operations that the gateway serves itself name declared types', () => {
  const emitted = Object.values(identityContracts).flatMap((contract) =>
    operationsIn(contract).flatMap(([, { emits = [] }]) => emits),
  )
  expect(new Set(emitted).size).toBeGreaterThan(5)
  expect(emitted.filter((type) => !bankingCatalogue.events.has(type))).toEqual([])
})
