export const limits = { abstract: 10_000, takeaways: 3, takeaway: 1_000 }
