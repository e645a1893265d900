define void @kernel(ptr %words, i64 %chunk, i64 %tid) nounwind "prefer-vector-width"="512" {
entry:
  %args = alloca [2 x ptr], align 8
  %steps = alloca [2 x i64], align 8
  %count = alloca i64, align 8
  %t1 = mul i64 %tid, 8192
  %t2 = getelementptr i64, ptr %words, i64 1
  %t3 = load ptr, ptr %t2, align 8
  %t4 = getelementptr i8, ptr %t3, i64 %t1
  %t5 = getelementptr i64, ptr %words, i64 20
  %t6 = load ptr, ptr %t5, align 8
  %t7 = getelementptr i64, ptr %words, i64 21
  %t8 = load ptr, ptr %t7, align 8
  %saved = alloca i32, align 4
  %status = alloca i32, align 4
  %raised = alloca i32, align 4
  store i32 0, ptr %raised, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %saved)
  %t9 = load i32, ptr %saved, align 4
  %t10 = and i32 %t9, -64
  store i32 %t10, ptr %status, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %status)
  %calls = alloca i64, align 8
  store i64 0, ptr %calls, align 8
  %t11 = getelementptr i64, ptr %words, i64 8
  %t12 = load i64, ptr %t11, align 8
  %t13 = urem i64 %chunk, %t12
  %t14 = udiv i64 %chunk, %t12
  %t15 = getelementptr i64, ptr %words, i64 6
  %t16 = load i64, ptr %t15, align 8
  %t17 = mul i64 %t13, %t16
  %t18 = getelementptr i64, ptr %words, i64 4
  %t19 = load i64, ptr %t18, align 8
  %t20 = sub i64 %t19, %t17
  %t21 = icmp ult i64 %t20, %t16
  %t22 = select i1 %t21, i64 %t20, i64 %t16
  %t23 = getelementptr i64, ptr %words, i64 5
  %t24 = load i64, ptr %t23, align 8
  %t25 = mul i64 %t14, %t24
  %t26 = getelementptr i64, ptr %words, i64 3
  %t27 = load i64, ptr %t26, align 8
  %t28 = sub i64 %t27, %t25
  %t29 = icmp ult i64 %t28, %t24
  %t30 = select i1 %t29, i64 %t28, i64 %t24
  %t31 = getelementptr i64, ptr %words, i64 9
  %t32 = load ptr, ptr %t31, align 8
  %t33 = getelementptr i64, ptr %words, i64 10
  %t34 = load i64, ptr %t33, align 8
  %t35 = mul i64 %t25, %t34
  %t36 = getelementptr i8, ptr %t32, i64 %t35
  %t37 = getelementptr i64, ptr %words, i64 11
  %t38 = load i64, ptr %t37, align 8
  %t39 = mul i64 %t17, %t38
  %t40 = getelementptr i8, ptr %t36, i64 %t39
  %t41 = getelementptr i64, ptr %words, i64 12
  %t42 = load ptr, ptr %t41, align 8
  %t43 = getelementptr i64, ptr %words, i64 13
  %t44 = load i64, ptr %t43, align 8
  %t45 = mul i64 %t25, %t44
  %t46 = getelementptr i8, ptr %t42, i64 %t45
  %t47 = getelementptr i64, ptr %words, i64 15
  %t48 = load ptr, ptr %t47, align 8
  %t49 = getelementptr i64, ptr %words, i64 16
  %t50 = load i64, ptr %t49, align 8
  %t51 = mul i64 %t25, %t50
  %t52 = getelementptr i8, ptr %t48, i64 %t51
  %t53 = mul i64 %t17, 8
  %t54 = getelementptr i8, ptr %t52, i64 %t53
  br label %start
start:
  br label %row55
row55:
  %i.row55 = phi i64 [ 0, %start ], [ %i.next56, %next56 ]
  %p0.row55 = phi ptr [ %t40, %start ], [ %p0.next56, %next56 ]
  %p1.row55 = phi ptr [ %t46, %start ], [ %p1.next56, %next56 ]
  %p2.row55 = phi ptr [ %t54, %start ], [ %p2.next56, %next56 ]
  %t57 = load double, ptr %p1.row55, align 8
  %t58 = getelementptr i64, ptr %words, i64 18
  %t59 = load double, ptr %t58, align 8
  br label %block60
block60:
  %i.block60 = phi i64 [ 0, %row55 ], [ %i.next61, %next61 ]
  %t63 = sub i64 %t22, %i.block60
  %t64 = icmp ult i64 %t63, 1024
  %t65 = select i1 %t64, i64 %t63, i64 1024
  %t66 = mul i64 %i.block60, %t38
  %t67 = getelementptr i8, ptr %p0.row55, i64 %t66
  %t68 = mul i64 %i.block60, 8
  %t69 = getelementptr i8, ptr %p2.row55, i64 %t68
  %t70 = and i64 %t65, -4
  %t74 = icmp ult i64 0, %t70
  br i1 %t74, label %pre72, label %done73
pre72:
  %t75 = insertelement <4 x double> poison, double %t59, i64 0
  %t76 = shufflevector <4 x double> %t75, <4 x double> poison, <4 x i32> zeroinitializer
  %t77 = insertelement <4 x double> poison, double %t57, i64 0
  %t78 = shufflevector <4 x double> %t77, <4 x double> poison, <4 x i32> zeroinitializer
  br label %loop71
loop71:
  %i.loop71 = phi i64 [ 0, %pre72 ], [ %n.loop71, %loop71 ]
  %t79 = mul i64 %i.loop71, %t38
  %t80 = getelementptr i8, ptr %t67, i64 %t79
  %t81 = load i64, ptr %t80, align 8
  %t82 = insertelement <2 x i64> poison, i64 %t81, i64 0
  %t83 = getelementptr i8, ptr %t80, i64 %t38
  %t84 = load i64, ptr %t83, align 8
  %t85 = insertelement <2 x i64> %t82, i64 %t84, i64 1
  %t86 = getelementptr i8, ptr %t83, i64 %t38
  %t87 = load i64, ptr %t86, align 8
  %t88 = insertelement <2 x i64> poison, i64 %t87, i64 0
  %t89 = getelementptr i8, ptr %t86, i64 %t38
  %t90 = load i64, ptr %t89, align 8
  %t91 = insertelement <2 x i64> %t88, i64 %t90, i64 1
  %t92 = shufflevector <2 x i64> %t85, <2 x i64> %t91, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t93 = bitcast <4 x i64> %t92 to <4 x double>
  %t94 = fmul <4 x double> %t76, %t93
  %t95 = fadd <4 x double> %t94, %t78
  %t96 = getelementptr double, ptr %t4, i64 %i.loop71
  store <4 x double> %t95, ptr %t96, align 8
  %n.loop71 = add i64 %i.loop71, 4
  %t97 = icmp ult i64 %n.loop71, %t70
  br i1 %t97, label %loop71, label %done73
done73:
  %t101 = icmp ult i64 %t70, %t65
  br i1 %t101, label %pre99, label %done100
pre99:
  br label %loop98
loop98:
  %i.loop98 = phi i64 [ %t70, %pre99 ], [ %n.loop98, %loop98 ]
  %t102 = mul i64 %i.loop98, %t38
  %t103 = getelementptr i8, ptr %t67, i64 %t102
  %t104 = load double, ptr %t103, align 8
  %t105 = fmul double %t59, %t104
  %t106 = fadd double %t105, %t57
  %t107 = getelementptr double, ptr %t4, i64 %i.loop98
  store double %t106, ptr %t107, align 8
  %n.loop98 = add i64 %i.loop98, 1
  %t108 = icmp ult i64 %n.loop98, %t65
  br i1 %t108, label %loop98, label %done100
done100:
  call void @llvm.x86.sse.stmxcsr(ptr %status)
  %t109 = load i32, ptr %status, align 4
  %t110 = load i32, ptr %raised, align 4
  %t111 = or i32 %t109, %t110
  store i32 %t111, ptr %raised, align 4
  %t112 = load i64, ptr %calls, align 8
  %t113 = add i64 %t112, 1
  store i64 %t113, ptr %calls, align 8
  %t114 = getelementptr ptr, ptr %args, i64 0
  store ptr %t4, ptr %t114, align 8
  %t115 = getelementptr i64, ptr %steps, i64 0
  store i64 8, ptr %t115, align 8
  %t116 = getelementptr ptr, ptr %args, i64 1
  store ptr %t69, ptr %t116, align 8
  %t117 = getelementptr i64, ptr %steps, i64 1
  store i64 8, ptr %t117, align 8
  store i64 %t65, ptr %count, align 8
  call void %t6(ptr %args, ptr %count, ptr %steps, ptr %t8)
  br label %next61
next61:
  %i.next61 = add i64 %i.block60, 1024
  %t118 = icmp ult i64 %i.next61, %t22
  br i1 %t118, label %block60, label %done62
done62:
  br label %next56
next56:
  %i.next56 = add i64 %i.row55, 1
  %p0.next56 = getelementptr i8, ptr %p0.row55, i64 %t34
  %p1.next56 = getelementptr i8, ptr %p1.row55, i64 %t44
  %p2.next56 = getelementptr i8, ptr %p2.row55, i64 %t50
  %t119 = icmp ult i64 %i.next56, %t30
  br i1 %t119, label %row55, label %done120
done120:
  br label %exit
exit:
  %t121 = getelementptr i64, ptr %words, i64 2
  %t122 = load i64, ptr %calls, align 8
  %t123 = atomicrmw add ptr %t121, i64 %t122 monotonic
  call void @llvm.x86.sse.stmxcsr(ptr %status)
  %t124 = load i32, ptr %status, align 4
  %t125 = load i32, ptr %raised, align 4
  %t126 = or i32 %t124, %t125
  store i32 %t126, ptr %raised, align 4
  %t127 = load i32, ptr %raised, align 4
  %t128 = lshr i32 %t127, 2
  %t129 = and i32 %t128, 7
  %t130 = shl i32 %t127, 3
  %t131 = and i32 %t130, 8
  %t132 = or i32 %t129, %t131
  %t133 = and i32 %t132, 14
  %t134 = icmp eq i32 %t133, 0
  br i1 %t134, label %quiet, label %report
report:
  %t135 = zext i32 %t133 to i64
  %t136 = getelementptr i64, ptr %words, i64 0
  %t137 = atomicrmw or ptr %t136, i64 %t135 monotonic
  br label %quiet
quiet:
  call void @llvm.x86.sse.ldmxcsr(ptr %saved)
  ret void
}
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
!0 = !{i32 1}
