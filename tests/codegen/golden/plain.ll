define void @kernel(ptr %words, i64 %chunk, i64 %tid) nounwind "prefer-vector-width"="512" {
entry:
  %saved = alloca i32, align 4
  %status = alloca i32, align 4
  %raised = alloca i32, align 4
  store i32 0, ptr %raised, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %saved)
  %t1 = load i32, ptr %saved, align 4
  %t2 = and i32 %t1, -64
  store i32 %t2, ptr %status, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %status)
  %t3 = getelementptr i64, ptr %words, i64 4
  %t4 = load i64, ptr %t3, align 8
  %t5 = mul i64 %chunk, %t4
  %t6 = getelementptr i64, ptr %words, i64 3
  %t7 = load i64, ptr %t6, align 8
  %t8 = sub i64 %t7, %t5
  %t9 = icmp ult i64 %t8, %t4
  %t10 = select i1 %t9, i64 %t8, i64 %t4
  %t11 = getelementptr i64, ptr %words, i64 6
  %t12 = load ptr, ptr %t11, align 8
  %t13 = mul i64 %t5, 4
  %t14 = getelementptr i8, ptr %t12, i64 %t13
  %t15 = getelementptr i64, ptr %words, i64 8
  %t16 = load ptr, ptr %t15, align 8
  %t17 = mul i64 %t5, 4
  %t18 = getelementptr i8, ptr %t16, i64 %t17
  %t19 = getelementptr i64, ptr %words, i64 10
  %t20 = load ptr, ptr %t19, align 8
  %t21 = mul i64 %t5, 4
  %t22 = getelementptr i8, ptr %t20, i64 %t21
  %t23 = getelementptr i64, ptr %words, i64 12
  %t24 = load ptr, ptr %t23, align 8
  %t25 = mul i64 %t5, 4
  %t26 = getelementptr i8, ptr %t24, i64 %t25
  %t27 = getelementptr i64, ptr %words, i64 14
  %t28 = load ptr, ptr %t27, align 8
  %t29 = mul i64 %t5, 1
  %t30 = getelementptr i8, ptr %t28, i64 %t29
  br label %start
start:
  %t31 = and i64 %t10, -8
  %t35 = icmp ult i64 0, %t31
  br i1 %t35, label %pre33, label %done34
pre33:
  br label %loop32
loop32:
  %i.loop32 = phi i64 [ 0, %pre33 ], [ %n.loop32, %loop32 ]
  %t36 = getelementptr float, ptr %t14, i64 %i.loop32
  %t37 = load <8 x float>, ptr %t36, align 4
  %t38 = getelementptr float, ptr %t18, i64 %i.loop32
  %t39 = load <8 x float>, ptr %t38, align 4
  %t40 = call <8 x i1> @llvm.experimental.constrained.fcmp.v8f32(<8 x float> %t37, <8 x float> %t39, metadata !"ogt", metadata !"fpexcept.maytrap")
  %t41 = getelementptr float, ptr %t22, i64 %i.loop32
  %t42 = load <8 x float>, ptr %t41, align 4
  %t43 = select <8 x i1> %t40, <8 x float> %t37, <8 x float> %t42
  %t44 = getelementptr float, ptr %t26, i64 %i.loop32
  store <8 x float> %t43, ptr %t44, align 4
  %t45 = zext <8 x i1> %t40 to <8 x i8>
  %t46 = getelementptr i8, ptr %t30, i64 %i.loop32
  store <8 x i8> %t45, ptr %t46, align 1
  %n.loop32 = add i64 %i.loop32, 8
  %t47 = icmp ult i64 %n.loop32, %t31
  br i1 %t47, label %loop32, label %done34
done34:
  %t51 = icmp ult i64 %t31, %t10
  br i1 %t51, label %pre49, label %done50
pre49:
  br label %loop48
loop48:
  %i.loop48 = phi i64 [ %t31, %pre49 ], [ %n.loop48, %loop48 ]
  %t52 = getelementptr float, ptr %t14, i64 %i.loop48
  %t53 = load float, ptr %t52, align 4
  %t54 = getelementptr float, ptr %t18, i64 %i.loop48
  %t55 = load float, ptr %t54, align 4
  %t56 = call i1 @llvm.experimental.constrained.fcmp.f32(float %t53, float %t55, metadata !"ogt", metadata !"fpexcept.maytrap")
  %t57 = getelementptr float, ptr %t22, i64 %i.loop48
  %t58 = load float, ptr %t57, align 4
  %t59 = select i1 %t56, float %t53, float %t58
  %t60 = getelementptr float, ptr %t26, i64 %i.loop48
  store float %t59, ptr %t60, align 4
  %t61 = zext i1 %t56 to i8
  %t62 = getelementptr i8, ptr %t30, i64 %i.loop48
  store i8 %t61, ptr %t62, align 1
  %n.loop48 = add i64 %i.loop48, 1
  %t63 = icmp ult i64 %n.loop48, %t10
  br i1 %t63, label %loop48, label %done50
done50:
  br label %exit
exit:
  call void @llvm.x86.sse.ldmxcsr(ptr %saved)
  ret void
}
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
declare <8 x i1> @llvm.experimental.constrained.fcmp.v8f32(<8 x float>, <8 x float>, metadata, metadata)
declare i1 @llvm.experimental.constrained.fcmp.f32(float, float, metadata, metadata)
!0 = !{i32 1}
