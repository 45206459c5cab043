import { createSocket } from 'node:dgram'

// The reference for SRT: receives UDP packets and counts them.

let packets = 0
const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 })
socket.on('message', () => packets++)
socket.bind(0, '127.0.0.1', () => console.log(`bare ready http://127.0.0.1:${socket.address().port}`))
process.on('SIGTERM', () => process.exit(packets > 0 ? 0 : 1))
